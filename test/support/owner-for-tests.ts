/** To whom a test may give a file: to somebody else where it runs as root, else only to itself. */
export function ownerForTests(): { readonly user: number; readonly group: number } {
  const user = process.getuid?.() ?? 0;
  return user === 0 ? { user: 4201, group: 4202 } : { user, group: process.getgid?.() ?? 0 };
}
