/** An element that the page is written with. @throws when it is missing, which only a bug of the page can cause */
export function elementOf<Type extends Element>(id: string, type: new () => Type): Type {
  const element = document.getElementById(id);
  if (!(element instanceof type)) throw new TypeError(`the page has no ${type.name} #${id}`);
  return element;
}
