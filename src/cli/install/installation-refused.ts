/** What stands in the way. The message tells what to do. */
export class InstallationRefused extends Error {
  override readonly name = 'InstallationRefused';
}
