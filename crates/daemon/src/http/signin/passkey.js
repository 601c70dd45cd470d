// Passkeys: asks for a challenge, lets the browser answer it, and sends the answer by the form whose button was used.
"use strict";

(() => {
  const bytes = (text) =>
    Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (character) => character.charCodeAt(0));

  const text = (buffer) =>
    btoa(Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join(""))
      .replace(/\+/g, "-")
      .replace(/\//g, "_")
      .replace(/=+$/, "");

  const ask = async (form) => {
    const body = new URLSearchParams(new FormData(form));
    const answer = await fetch("/auth/passkey/challenge", { method: "POST", body });
    const said = await answer.json();
    if (!answer.ok) throw new Error(said.error.message);
    if (said.origin !== location.origin) throw new Error(`Passkeys work at ${said.origin}: open this page there.`);
    return said;
  };

  const make = async (said) => {
    const made = await navigator.credentials.create({
      publicKey: {
        challenge: bytes(said.challenge),
        rp: { id: said.rp_id, name: "Covenant" },
        user: { id: bytes(said.user.id), name: said.user.name, displayName: said.user.name },
        pubKeyCredParams: [-7, -8, -257].map((alg) => ({ type: "public-key", alg })),
        excludeCredentials: said.known.map((id) => ({ type: "public-key", id: bytes(id) })),
        authenticatorSelection: { residentKey: "required", requireResidentKey: true, userVerification: "required" },
        attestation: "none",
        timeout: said.timeout_ms,
      },
    });
    return {
      client_data: text(made.response.clientDataJSON),
      attestation: text(made.response.attestationObject),
    };
  };

  const use = async (said) => {
    const used = await navigator.credentials.get({
      publicKey: {
        challenge: bytes(said.challenge),
        rpId: said.rp_id,
        userVerification: "required",
        timeout: said.timeout_ms,
      },
    });
    return {
      id: text(used.rawId),
      client_data: text(used.response.clientDataJSON),
      authenticator_data: text(used.response.authenticatorData),
      signature: text(used.response.signature),
      user: used.response.userHandle ? text(used.response.userHandle) : "",
    };
  };

  const tell = (form, error) => {
    const chosen = error.name === "NotAllowedError" ? "No passkey was chosen, or it took too long." : error.message;
    let told = form.querySelector("[role=alert]");
    if (!told) {
      told = document.createElement("p");
      told.className = "told";
      told.setAttribute("role", "alert");
      form.append(told);
    }
    told.textContent = chosen;
  };

  const go = async (form) => {
    const said = await ask(form);
    const answer = said.user ? await make(said) : await use(said);
    for (const [name, value] of Object.entries(answer)) {
      const field = document.createElement("input");
      field.type = "hidden";
      field.name = name;
      field.value = value;
      form.append(field);
    }
    form.submit();
  };

  if (!window.PublicKeyCredential) return;
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    form.hidden = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      go(form).catch((error) => tell(form, error));
    });
  }
})();
