import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { Agent, request } from 'undici';
import { startDemo } from '../support/running-demo.ts';

test('what status warns of can be seen: an object that an older server cannot decode fails with 500 there alone', async (context) => {
  const { demo, stop } = await startDemo();
  context.after(stop);
  const { certificates, routers } = demo;
  const dispatcher = new Agent({
    connect: {
      ca: await readFile(certificates.clusterCa),
      cert: await readFile(certificates.admin.certificate),
      key: await readFile(certificates.admin.privateKey),
    },
  });
  context.after(() => dispatcher.close());
  const origin = routers[1]?.origin ?? assert.fail('the demo has no second router');
  const ask = async (path: string, body?: object) => {
    const response = await request(`${origin}${path}`, {
      dispatcher,
      method: body === undefined ? 'GET' : 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { code: response.statusCode, text: await response.body.text() };
  };

  const { warnings }: { warnings: { message: string }[] } = JSON.parse(
    (await ask('/.mixed-version-proxy/v1/status')).text,
  );
  const messages = warnings.map(({ message }) => message).join();
  assert.match(
    messages,
    /2 resources are stored in a form that servers of 1\.25 and 1\.26 cannot read\. Keep a server of 1\.36 running/,
  );

  const group = '/apis/flowcontrol.apiserver.k8s.io';
  const schema = { metadata: { name: 'new' }, spec: { matchingPrecedence: 900 } };
  assert.equal((await ask(`${group}/v1/flowschemas`, schema)).code, 201);
  assert.equal((await ask(`${group}/v1/flowschemas`)).code, 200);
  const { code, text } = await ask(`${group}/v1beta3/flowschemas`);
  assert.equal(code, 500);
  assert.match(
    text,
    /no kind \\"FlowSchema\\" is registered for version \\"flowcontrol\.apiserver\.k8s\.io\/v1\\"/,
  );
});
