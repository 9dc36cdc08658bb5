import { createFileSnapshotStore } from '../../../src/node/files/file-snapshot-store.ts';

// Saves one snapshot after the other until it is killed. After each save it prints its number.
// Arguments: the file, the first number. Each snapshot is `<number>.` and a megabyte of one letter.
const [path = '', first = '1'] = process.argv.slice(2);
const store = createFileSnapshotStore(path);
for (let number = Number(first); ; number++) {
  await store.save(`${number}.${String.fromCharCode(97 + (number % 26)).repeat(1_000_000)}`);
  process.stdout.write(`${number}\n`);
}
