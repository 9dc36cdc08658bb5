/** Whether a value of `JSON.parse` is an object, which arrays and `null` are not. */
export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
