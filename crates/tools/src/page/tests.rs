//! Pages, and what becomes of them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use covenant_model::redact::Redactor;
use proptest::prelude::*;

use super::*;

fn base() -> Url {
    Url::parse("https://example.org/dir/page?q").unwrap()
}

fn veiled(bytes: &[u8], kind: &Kind, most: usize, veil: &Veil) -> Page {
    let reading = Reading { base: &base(), shown: Shown::Readable, most, veil, going: &|| true };
    read(bytes, kind, &reading)
}

fn page(bytes: &[u8]) -> Page {
    let kind = Kind::of(Some("text/html; charset=utf-8"), bytes).unwrap();
    veiled(bytes, &kind, 1 << 20, &Veil::default())
}

fn markdown(html: &str) -> String {
    page(html.as_bytes()).text
}

#[test]
fn each_element_has_its_markdown() {
    for (html, expected) in [
        ("<h1>One</h1><h3>Th<br>ree</h3><h6></h6>", "# One\n\n### Th ree"),
        ("<p>One\n  two<p>three", "One two\n\nthree"),
        ("one<br>two<br><br>three", "one  \ntwo\n\nthree"),
        ("<div>a<div>b</div>c</div>", "a\n\nb\n\nc"),
        ("a &amp; b &lt;c&gt; &nbsp; &copy; &#8364; &nosuch;", "a & b \\<c> © € &nosuch;"),
        (
            "<b>bold</b> <strong> x </strong>y <em>it</em><i></i> <del>no</del>",
            "**bold** **x** y *it* ~~no~~",
        ),
        ("<b>a <b>b</b></b> <i><p>x</p><p>y</p></i>", "**a b**\n\n*x*\n\n*y*"),
        ("x<sup>2</sup>, H<sub>2</sub>O, <q>so</q>", "x<sup>2</sup>, H<sub>2</sub>O, \"so\""),
        ("<code>a*b_c</code> <kbd>`</kbd> <code>a ``b`` c</code>", "`a*b_c` `` ` `` ```a ``b`` c```"),
        ("<code><a href=/x>Vec</a>&lt;T&gt;</code>", "`Vec<T>`"),
        ("<a href=/x><code>Vec</code></a>", "[`Vec`](https://example.org/x)"),
        ("<a href='b(c) d'> text </a>!", "[text](https://example.org/dir/b%28c%29%20d) !"),
        (
            "<a href='//other.example/'>o</a> <a href=mailto:a@b.example>m</a>",
            "[o](https://other.example/) [m](mailto:a@b.example)",
        ),
        (
            "<a href='javascript:alert(1)'>j</a> <a href=' JavaScript:x'>k</a> <a href=data:,x>d</a> <a>n</a>",
            "j k d n",
        ),
        ("<a href=#top>top</a> <h2>H <a href=#h>¶</a></h2>", "top\n\n## H"),
        ("<a href=https://example.org/>https://example.org/</a> <a href=/></a>", "<https://example.org/>"),
        ("<a href=/x><h2>T</h2><p>p</p></a>", "## [T](https://example.org/x)\n\n[p](https://example.org/x)"),
        (
            "<img src=a.png alt='A  [cat]'><img src=b.png><img alt=c src=data:image/png;base64,x>",
            "![A cat](https://example.org/dir/a.png)![c]",
        ),
        (
            "<a href=/x><img src=a.png alt=A></a>",
            "[![A](https://example.org/dir/a.png)](https://example.org/x)",
        ),
        ("<hr>a<hr>", "---\n\na\n\n---"),
        ("<ul><li>a<li>b<ul><li>c<li>d</ul><li>e</ul>f", "- a\n- b\n  - c\n  - d\n- e\n\nf"),
        (
            "x<ol start=9><li>a<li><p>b</p><p>c</p><li><ul><li>d</ul></ol>",
            "x\n\n9. a\n10. b\n\n    c\n11. - d",
        ),
        ("<ul><li></li><li>a</ul>", "- a"),
        ("<ol start=-5><li>a</ol><ol start=99999999999999999999><li>b</ol>", "1. a\n\n1. b"),
        ("<dl><dt>T<dd>one<dd>two<dt>U<dd>x</dl>", "**T**\n: one\n: two\n\n**U**\n: x"),
        ("<blockquote><p>a<p>b<ul><li>c</ul></blockquote>d", "> a\n>\n> b\n>\n> - c\n\nd"),
        ("<ul><li><blockquote>a</blockquote></ul>", "- > a"),
        (
            "<pre><code class='x language-rust'>fn a() {\n    b &amp;&amp; c;\n}\n</code></pre>",
            "```rust\nfn a() {\n    b && c;\n}\n```",
        ),
        ("<div class='highlight-source-c++'><pre>a ``` b<br>c</pre></div>", "````c++\na ``` b\nc\n````"),
        ("<ul><li>x<pre>a\n\nb</pre></ul>", "- x\n\n  ```\n  a\n\n  b\n  ```"),
        ("<math alttext='x^2'><mi>x</mi></math> <math><mi>y</mi></math>", "$x^2$ y"),
        (
            "<table><caption>C</caption><tr><th>A<th>B<tr><td>1|2<td><b>x</b><br>y<tr><td colspan=2>w</table>",
            "C\n\n| A | B |\n| --- | --- |\n| 1\\|2 | **x** y |\n| w |  |",
        ),
        ("<table><tr><td>a<td>b</table>", "a\n\nb"),
        ("<table><tr><td><h1>T</h1><td>n<tr><td>x<td>y</table>", "# T\n\nn\n\nx\n\ny"),
        ("<table role=presentation><tr><td>a<td>b<tr><td>c<td>d</table>", "a\n\nb\n\nc\n\nd"),
        ("<table><tr><th>k<th>v<tr><td>c<td><pre>a  b\nc</pre></table>", "k\n\nv\n\nc\n\n```\na  b\nc\n```"),
        ("a_b _c_ 1*2 `x` [y] \\* \\n <", "a_b \\_c\\_ 1\\*2 \\`x\\` \\[y\\] \\\\\\* \\n <"),
        (
            "<p># no<p>- no<p>1. no<p>&gt; no<p>--<p>12) no<p>#yes -yes 1.5",
            "\\# no\n\n\\- no\n\n1\\. no\n\n\\> no\n\n\\--\n\n12\\) no\n\n#yes -yes 1.5",
        ),
        ("soft\u{ad}hyphen \u{200b}x\u{e0041}\u{e0042} \u{1}y", "softhyphen x y"),
    ] {
        assert_eq!(markdown(html), expected, "{html}");
    }
}

#[test]
fn what_nobody_reads_is_left_out() {
    for hidden in [
        "<script>evil()</script>",
        "<style>p{}</style>",
        "<noscript>hidden</noscript>",
        "<template><p>hidden</p></template>",
        "<nav><a href=/>hidden</a></nav>",
        "<aside>hidden</aside>",
        "<header>hidden</header>",
        "<footer>hidden</footer>",
        "<form><label>hidden</label><input value=hidden></form>",
        "<button>hidden</button>",
        "<select><option>hidden</select>",
        "<textarea>hidden</textarea>",
        "<svg><title>hidden</title><text>hidden</text></svg>",
        "<iframe src=x>hidden</iframe>",
        "<video>hidden</video>",
        "<p hidden>hidden</p>",
        "<p aria-hidden=true>hidden</p>",
        "<p style='color: red; DISPLAY : none'>hidden</p>",
        "<div role=navigation>hidden</div>",
        "<div role=banner>hidden</div>",
        "<div class='site-sidebar'><a href=/>hidden</a></div>",
        "<ul id=breadcrumbs><li><a href=/>hidden</a></ul>",
        "<!-- hidden -->",
        "<dialog>hidden</dialog>",
    ] {
        let text = "word ".repeat(40);
        let html = format!("<body>{hidden}<p>{text}</p>{hidden}</body>");
        assert_eq!(markdown(&html), text.trim(), "{hidden}");
    }
}

#[test]
fn the_content_is_found_where_a_page_marks_it_and_where_it_does_not() {
    let text = "A sentence of the text itself, as people write them. ".repeat(6);
    let text = text.trim();
    let menu = "<div class=list><ul><li><a href=/a>Products</a><li><a href=/b>Prices</a><li><a href=/c>Contact</a></ul></div>";
    for html in [
        format!("{menu}<main><p>{text}</main>{menu}"),
        format!("{menu}<div role=main><p>{text}</div>{menu}"),
        format!("{menu}<article><p>{text}</article>{menu}"),
        format!("<main></main>{menu}<article><p>{text}</article>"),
        format!("{menu}<div><div><div id=x><p>{text}</div></div>{menu}</div>"),
        format!("<table><tr><td>{menu}<td><div><p>{text}</div></table>"),
    ] {
        assert_eq!(markdown(&html), text, "{html}");
    }
    // A heading beside its text stays with it, and a section keeps its own head.
    assert_eq!(markdown(&format!("<h1>T</h1><div><p>{text}</div>")), format!("# T\n\n{text}"));
    assert_eq!(
        markdown(&format!("<article><header><h1>T</h1></header><p>{text}</article>")),
        format!("# T\n\n{text}")
    );
    // A page that is a form from beginning to end.
    assert_eq!(markdown(&format!("<form><p>{text}<input></form>")), text);
    // A page of links is its links.
    let links = markdown(menu);
    assert_eq!(links.lines().count(), 3, "{links}");
}

#[test]
fn a_whole_page_reads_well() {
    let page = page(include_bytes!("tests/article.html"));
    assert_eq!(page.title.as_deref(), Some("How bridges stand – The Builder"));
    assert_eq!(page.text, include_str!("tests/article.md").trim_end());
    assert_eq!((page.remark, page.cut), (None, false));
}

#[test]
fn a_title_is_found_or_there_is_none() {
    for (html, title) in [
        ("<title> A\n B </title>", Some("A B")),
        ("<title></title><h1>H <b>x</b></h1>", Some("H x")),
        ("<meta property=og:title content=O><h1>H</h1>", Some("O")),
        ("<svg><title>S</title></svg><p>x", None),
        ("<p>x", None),
    ] {
        assert_eq!(page(html.as_bytes()).title.as_deref(), title, "{html}");
    }
    assert_eq!(page(format!("<title>{}", "x".repeat(9000)).as_bytes()).title.unwrap().len(), 300);
}

#[test]
fn relative_addresses_begin_where_the_page_says() {
    assert_eq!(markdown("<base href=/other/><a href=x>y</a>"), "[y](https://example.org/other/x)");
    assert_eq!(markdown("<base href='javascript:x'><a href=x>y</a>"), "[y](https://example.org/dir/x)");
}

/// A page that tells a secret with marks in it, in every way.
#[test]
fn no_mark_hides_a_secret() {
    let secret = "ab*cd_[ef]_g`h<ij";
    let veil = Veil::of([Arc::new(Redactor::new([("API_KEY", secret)]))]);
    let kind = Kind::of(Some("text/html"), b"").unwrap();
    let label = "[REDACTED:API_KEY]";
    for (html, expected) in [
        ("<p>x ab*cd_[ef]_g`h&lt;ij y", format!("x {label} y")),
        ("<p>x &#97;b*cd_[ef]_g`h&lt;ij", format!("x {label}")),
        ("<p>x ab*<b>cd_</b>[ef]_<i>g`h&lt;ij</i> y", format!("x {label} y")),
        ("<p>x <b>ab*cd_[ef]_g`h&lt;ij</b> y", format!("x **{label}** y")),
        ("<p>ab*cd_&shy;[ef]_g`h&lt;i<wbr>j", label.to_owned()),
        ("<p>ab*cd_<!-- x -->[ef]_g`h&lt;ij", label.to_owned()),
        ("<pre>ab*cd_[ef]_g`h&lt;ij</pre>", format!("```\n{label}\n```")),
        ("<img alt='ab*cd_[ef]_g`h&lt;ij'>", "![REDACTED:API_KEY]".to_owned()),
        (
            "<table><tr><td>some words<td>ab*cd_[ef]_g`h&lt;ij<tr><td>other words<td>are here</table>",
            format!("| some words | {label} |\n| --- | --- |\n| other words | are here |"),
        ),
        ("<p>ab*cd_<p>[ef]_g`h", "ab\\*cd\\_\n\n\\[ef\\]\\_g\\`h".to_owned()),
    ] {
        assert_eq!(veiled(html.as_bytes(), &kind, 1 << 20, &veil).text, expected, "{html}");
    }
    let titled = format!("<title>{}ab*cd_[ef]_g`h&lt;ij</title>", "x".repeat(290));
    let title = veiled(titled.as_bytes(), &kind, 1 << 20, &veil).title.unwrap();
    assert!(!title.contains("ab*"), "{title}");
}

#[test]
fn what_did_not_come_whole_ends_before_a_secret_that_may_have_begun() {
    let secret = "correct-horse-battery-staple";
    let veil = Veil::of([Arc::new(Redactor::new([("KEY", secret)]))]);
    let kind = Kind::of(Some("text/html"), b"").unwrap();
    for before in [MOST_BYTES - 20, MOST_BYTES - 100] {
        let html = format!("<p hidden>{}</p>{secret}", " ".repeat(before - "<p hidden></p>".len()));
        let page = veiled(&html.as_bytes()[..html.len().min(MOST_BYTES)], &kind, 1 << 20, &veil);
        assert!(!page.text.contains("correct"), "{}", page.text);
    }
}

#[test]
fn a_page_is_not_read_on_when_nobody_waits_for_it() {
    let html = "<p>word ".repeat(10_000);
    let kind = Kind::of(Some("text/html"), b"").unwrap();
    let asked = std::cell::Cell::new(0);
    let going = || asked.replace(asked.get() + 1) < 3;
    let reading = Reading {
        base: &base(),
        shown: Shown::Readable,
        most: 1 << 20,
        veil: &Veil::default(),
        going: &going,
    };
    let page = read(html.as_bytes(), &kind, &reading);
    assert!(page.cut && page.text.len() < 5000, "{}", page.text.len());
}

#[test]
fn a_page_of_nothing_but_tags_or_entities_ends_after_so_many() {
    for text in ["<", "&amp;", "</p>"] {
        let page = page(text.repeat(500_000).as_bytes());
        assert!(page.cut, "{text}");
    }
}

/// Long enough that what takes the square of it takes minutes.
const LONG: usize = 512 << 10;

/// Each of these is small, and would be long in the reading for whoever did it carelessly.
#[test]
fn hostile_pages_are_read_in_good_time() {
    let many = |text: &str| text.repeat(LONG / text.len());
    let numbered = |before: &str, after: &str| {
        (0..50_000).map(|n| format!("{before}{n}{after}")).collect::<Vec<_>>().concat()
    };
    for (name, html) in [
        ("deep", many("<div>")),
        ("deep lists", many("<ul><li>a")),
        ("deep quotes", many("<blockquote>")),
        ("quotes around lines", format!("{}<pre>{}", "<blockquote>".repeat(390), "x\n".repeat(LONG))),
        ("attributes", format!("<p {}>", numbered("a", " "))),
        ("hidden attributes", format!("<textarea><b c=\"</textarea {}>", numbered("a", " "))),
        ("open formats", format!("{}{}", numbered("<p><font class=", ">"), many("<p>x"))),
        ("formats", many("<b><p><i><p>")),
        ("tables", many("<table><tr><td>")),
        ("fostered", many("<table><b>x")),
        ("wide", format!("<table>{}<tr>{}", many("<td>x"), "<td>y".repeat(50_000))),
        ("links", many("<a href=x>y")),
        ("comments", many("<!--")),
        ("scripts", many("<script>")),
        ("brackets", many("<")),
        ("ends", many("</p>")),
        ("text", many("x")),
        ("blanks", many(" ")),
        ("entities", many("&amp")),
        ("selects", many("<select><option>")),
        ("templates", many("<template>")),
        ("formulas", many("<math><mi>")),
        ("drawings", many("<svg><foreignObject>")),
        ("words", many("_*`[a]")),
        ("breaks", many("a<br>")),
        ("bold", format!("{}{}", "<b class=1><i class=2>".repeat(190), many("x<p>"))),
    ] {
        let start = Instant::now();
        let page = page(html.as_bytes());
        let took = start.elapsed();
        assert!(took < Duration::from_mins(1), "{name}: {took:?}");
        assert!(page.text.len() < 8 << 20, "{name}: {}", page.text.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_bytes_are_too_much(bytes in proptest::collection::vec(any::<u8>(), 0..2000), most in 0_usize..500) {
        for content_type in [None, Some("text/html"), Some("text/html; charset=utf-16"), Some("text/xml")] {
            if let Ok(kind) = Kind::of(content_type, &bytes) {
                veiled(&bytes, &kind, most, &Veil::default());
            }
        }
    }

    #[test]
    fn no_markup_is_too_much(parts in proptest::collection::vec(part(), 0..120), most in 0_usize..3000) {
        let html = parts.concat();
        let kind = Kind::of(Some("text/html"), b"").unwrap();
        let page = veiled(html.as_bytes(), &kind, most, &Veil::default());
        prop_assert!(page.text.len() <= 4 * html.len() * 40 + 100);
    }
}

/// A piece of markup.
fn part() -> impl Strategy<Value = String> {
    let tags = prop::sample::select(vec![
        "a href=x",
        "b",
        "i",
        "p",
        "div",
        "ul",
        "ol",
        "li",
        "table",
        "tr",
        "td",
        "th",
        "pre",
        "code",
        "blockquote",
        "h1",
        "br",
        "hr",
        "img alt=x",
        "dl",
        "dt",
        "dd",
        "select",
        "option",
        "template",
        "svg",
        "math",
        "form",
        "main",
        "article",
        "body",
        "html",
        "head",
        "title",
        "frameset",
        "caption",
        "colgroup",
        "font",
        "nobr",
        "button",
        "header",
        "p hidden",
        "sup",
    ]);
    prop_oneof![
        tags.clone().prop_map(|tag| format!("<{tag}>")),
        tags.prop_map(|tag| format!("</{}>", tag.split(' ').next().unwrap())),
        Just("<script>x</script>".to_owned()),
        Just(" text ".to_owned()),
        "[a-z <>&;\"'/=!ü*_`\\[\\]|#-]{0,12}",
    ]
}
