// `npm pack` and `npm publish` of a checkout would leave out the pinned dependencies (npm-shrinkwrap.json), and have the
// runtimes that only tests need.
process.stderr.write('Run `npm run package`: it makes the tarball that is published.\n');
process.exitCode = 1;
