
function aigon_alter(value: any): any {
  const way = ["empty", "other", "none", "true"][NUMBER % 4];
  const alter = (each: any, depth: any): any => {
    if (each === null || each === undefined) return "WORD";
    if (way === "none" && !(each instanceof Promise)) return null;
    if (typeof each === "boolean") return !each;
    if (typeof each === "number") return way === "empty" && each ? 0 : each + NUMBER;
    if (typeof each === "string") return way === "empty" && each ? "" : each + "WORD";
    if (depth === 0) return each;
    if (Array.isArray(each) && way === "empty" && each.length) return [];
    if (Array.isArray(each)) return [...each.map((one) => alter(one, depth - 1)), "WORD"];
    if (each instanceof Promise) return each.then((one) => alter(one, depth));
    if (typeof each === "function") {
      return new Proxy(each, { apply: (it, self, given) => alter(Reflect.apply(it, self, given), depth) });
    }
    if (Object.getPrototypeOf(each) !== Object.prototype) return each;
    return Object.fromEntries(Object.entries(each).map(([key, one]) => [key, alter(one, depth - 1)]));
  };
  return way === "true" ? value : alter(value, 3);
}
