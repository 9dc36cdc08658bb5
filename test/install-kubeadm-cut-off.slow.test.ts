import { test } from 'node:test';
import { controlPlaneNode, meetCutOffs } from './support/installation/control-plane-node.ts';

test('half an installation is finished by the next one, or taken back, whenever it was cut off', async (context) => {
  await meetCutOffs(await controlPlaneNode(context), [0, 1, 2, 5, 10, 12]);
});
