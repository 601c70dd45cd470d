"""A coding agent without a model: it works through a list as the tools of its team tell it to.

    agent.py --name NAME --list FILE --pulls DIR [--mode auto|legacy|2026-07-28] --url URL | COMMAND [ARGUMENT...]

The list is [{"slug", "title", "scope", "files", "known_as"}]: what is to be done in this agent's own words, and the titles it
knows the same thing by in the words of others. What it does is a file of DIR, SLUG-by-NAME.md: its pull request.

Each step is a line of JSON on standard output. The first two times that it is about to start a piece or to write it down, the
agent waits for a line on standard input, so that others can come between. At the end of the input it answers what it was
asked, waits for the answers to its own questions, and leaves.
"""

import argparse
import json
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
from mcp import Client
from python_client import PATIENCE_SECONDS, add_way, plain, server

GLANCE_SECONDS = 0.02


class Agent:
    def __init__(self, client: Client, name: str, pulls: Path) -> None:
        self.client, self.name, self.pulls = client, name, pulls
        self.session: str | None = None
        self.held_up = 2
        self.asked: set[str] = set()

    async def call(self, tool: str, operation: str, **arguments) -> dict:
        if self.session:
            arguments["session_id"] = self.session
        result = plain(await self.client.call_tool(tool, {"operation": operation, **arguments}))
        return result["structuredContent"]

    async def sure(self, tool: str, operation: str, **arguments) -> dict:
        """A call that has to go well; what it tells."""
        told = await self.call(tool, operation, **arguments)
        if told["status"] not in ("ok", "warning"):
            raise RuntimeError(f"{tool} {operation}: {told}")
        return told["data"]

    def say(self, step: str, **what) -> None:
        print(json.dumps({"step": step, **what}), flush=True)

    async def wait(self) -> None:
        """Until somebody says to go on, at the two places where others can come between."""
        if self.held_up:
            self.held_up -= 1
            await anyio.to_thread.run_sync(sys.stdin.readline)

    async def live(self, pieces: list[dict]) -> None:
        self.session = (await self.sure("covibe_session", "start", agent_name=self.name))["session_id"]
        for piece in pieces:
            await self.take(piece)
        self.say("through")
        await anyio.to_thread.run_sync(sys.stdin.read)
        while await self.correspond():
            await anyio.sleep(GLANCE_SECONDS)
        await self.sure("covibe_session", "end")

    async def take(self, piece: dict) -> None:
        work = {"title": piece["title"], "scope": piece["scope"], "target_files": piece["files"], "task_type": "feature"}
        look = await self.call("covibe_task", "check", **work)
        if theirs := same(look, piece):
            return await self.leave(piece, theirs, look["status"])
        self.say("looked", slug=piece["slug"])
        await self.wait()
        start = await self.call("covibe_task", "start", **work, **verdict(look))
        if start["status"] == "blocked":
            if theirs := same(start, piece):
                return await self.leave(piece, theirs, start["status"])
            raise RuntimeError(f"kept from {piece['title']}: {start}")
        self.say("started", slug=piece["slug"], judged=len(look["data"]["candidates"]))
        await self.wait()
        # The same pull request twice is an error of its own.
        with open(self.pulls / f"{piece['slug']}-by-{self.name}.md", "x", encoding="utf-8") as pull:
            pull.write(f"{piece['title']}\n")
        task = start["data"]["task_id"]
        await self.sure("covibe_task", "complete", task_id=task, result_summary=f"{piece['slug']} is written.")
        self.say("completed", slug=piece["slug"])

    async def leave(self, piece: dict, theirs: dict, status: str) -> None:
        """Somebody else does it, or did it: whoever is at it still is asked, and the agent goes on."""
        if theirs["status"] in ("planned", "active", "blocked"):
            question = f"You do {theirs['title']}: does that cover {', '.join(piece['files'])}?"
            asked = await self.sure("covibe_coordination", "ask", to=theirs["owner"], message=question)
            self.asked.add(asked["ask_id"])
        told = {"owner": theirs["owner"], "found": theirs["status"], "told": status}
        self.say("left", slug=piece["slug"], **told)

    async def correspond(self) -> bool:
        """Answers what was asked; whether answers are still out."""
        for told in (await self.sure("covibe_coordination", "inbox", unread_only=True))["messages"]:
            if told["kind"] == "ask" and told["from"] != self.name:
                reply = {"ask_id": told["ask_id"], "message": "Yes, all of it."}
                await self.sure("covibe_coordination", "reply", **reply)
                self.say("replied", to=told["from"], question=told["message"])
            elif told["kind"] == "reply" and told["ask_id"] in self.asked:
                self.asked.discard(told["ask_id"])
                self.say("answered", by=told["from"], answer=told["message"])
        return bool(self.asked)


def same(told: dict, piece: dict) -> dict | None:
    """The work among what was found that this agent takes for the same, still open before over."""
    found = [*told["data"].get("candidates", []), *told["data"].get("matches", [])]
    return next((work for work in found if work["title"] in piece["known_as"]), None)


def verdict(look: dict) -> dict:
    """What a start says of what had to be decided about, none of which is the same."""
    judged = [
        {"candidate_id": work["id"], "same_scope": False, "reason": f"{work['title']} is something else."}
        for work in look["data"].get("candidates", [])
    ]
    return {"check_id": look["data"]["check_id"], "scope_verdict": judged} if judged else {}


async def main(options: argparse.Namespace) -> None:
    pieces = json.loads(Path(options.list).read_text(encoding="utf-8"))
    with anyio.fail_after(PATIENCE_SECONDS):
        async with AsyncExitStack() as stack:
            way = await server(options, anyio.Event(), stack)
            client = await stack.enter_async_context(Client(way, mode=options.mode))
            await Agent(client, options.name, Path(options.pulls)).live(pieces)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in ("--name", "--list", "--pulls"):
        parser.add_argument(name, required=True)
    return add_way(parser).parse_args()


if __name__ == "__main__":
    try:
        anyio.run(main, arguments())
    except Exception as problem:  # noqa: BLE001 - whatever it is, the test must see it
        print(f"agent: {problem!r}", file=sys.stderr)
        sys.exit(1)
