// @peculiar/x509 brings a dependency container that refuses to load without the Reflect metadata functions. It
// is written in plain JavaScript here, so there is no metadata to find: answering "none" is all that is needed.
if (!('getMetadata' in Reflect)) {
  Object.assign(Reflect, {
    getMetadata: () => undefined,
    getOwnMetadata: () => undefined,
    defineMetadata: () => undefined,
  });
}
