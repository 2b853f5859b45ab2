// The choice of colours.
const root = document.documentElement;
const store = {
  get() { try { return localStorage.getItem("hedera-theme"); } catch { return null; } },
  set(value) { try { localStorage.setItem("hedera-theme", value); } catch { /* no storage: not remembered */ } },
};
const apply = (theme) => {
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  else delete root.dataset.theme;
};
for (const input of document.querySelectorAll("input[name=theme]")) {
  input.checked = input.value === (store.get() || "auto");
  input.addEventListener("change", () => { apply(input.value); store.set(input.value); });
}
apply(store.get());

// A link into a closed part opens it.
addEventListener("hashchange", () => document.getElementById(location.hash.slice(1))?.closest("details")?.setAttribute("open", ""));
