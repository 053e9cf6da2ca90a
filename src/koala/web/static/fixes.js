// Cells that the user has fixed, in the form of the API: {entity, step, location?, action?}.

const isCell = (fix, entity, step) => fix.entity === entity && fix.step === step;

export class Fixes {
  constructor() {
    this.reset();
  }

  /** Begin anew, with the fixes of another text. */
  reset(list = []) {
    this.list = [...list];
    this.past = [];
  }

  get(entity, step) {
    return this.list.find((fix) => isCell(fix, entity, step));
  }

  /** Fix a cell; what was said of it before no longer counts. */
  set(fix) {
    const others = this.list.filter((each) => !isCell(each, fix.entity, fix.step));
    this.change([...others, fix]);
  }

  remove(entity, step) {
    this.change(this.list.filter((fix) => !isCell(fix, entity, step)));
  }

  clear() {
    this.change([]);
  }

  change(list) {
    this.past.push(this.list);
    this.list = list;
  }

  get canUndo() {
    return this.past.length > 0;
  }

  undo() {
    if (this.canUndo) this.list = this.past.pop();
  }

  /** Forget what was said of entities that are no longer tracked. */
  keep(names) {
    const isKept = (fix) => names.includes(fix.entity);
    if (this.list.every(isKept)) return;
    this.reset(this.list.filter(isKept));
  }
}
