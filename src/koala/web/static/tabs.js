// Tabs, as the ARIA pattern has them: arrow keys walk, and the tab that has the keyboard is shown.

export class Tabs {
  /** `list` holds buttons, each with `aria-controls`; `onSelect(name)` hears which is shown. */
  constructor(list, onSelect) {
    this.list = list;
    this.onSelect = onSelect;
    for (const tab of list.children) tab.addEventListener("click", () => this.select(tab));
    list.addEventListener("keydown", (event) => this.walk(event));
  }

  get tabs() {
    return [...this.list.children].filter((tab) => !tab.hidden);
  }

  get current() {
    return this.list.querySelector('[aria-selected="true"]');
  }

  /** Show or hide a tab; if it is the current one, the first takes its place. */
  offer(tab, isOffered) {
    tab.hidden = !isOffered;
    if (!isOffered && tab === this.current) this.select(this.tabs[0]);
  }

  select(chosen) {
    for (const tab of this.list.children) {
      const isChosen = tab === chosen;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.setAttribute("tabindex", isChosen ? "0" : "-1");
      document.getElementById(tab.getAttribute("aria-controls")).hidden = !isChosen;
    }
    this.onSelect(chosen.dataset.view);
  }

  walk(event) {
    const { tabs } = this;
    const at = tabs.indexOf(this.current);
    const target = {
      ArrowLeft: at - 1,
      ArrowRight: at + 1,
      Home: 0,
      End: tabs.length - 1,
    }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    const tab = tabs[(target + tabs.length) % tabs.length];
    this.select(tab);
    tab.focus();
  }
}
