import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { findKubectls, runKubectl } from '../support/kubectl.ts';
import { startDemo } from '../support/running-demo.ts';
test('probe', async () => {
  const running = await startDemo();
  try {
  const [k27, k33] = findKubectls();
  const run = (k: any, c: string, a: string[], i?: string) => runKubectl(k, running.home, ['--kubeconfig', running.demo.kubeconfig, '--context', c, ...a], i);
  await running.demo.apiServers[0]?.close();
  for (let i = 0; i < 40; i++) {
    const r = await run(k33, 'v1.36', ['get', '--raw', '/.mixed-version-proxy/v1/status']);
    const s = r.code === 0 ? JSON.parse(r.stdout) : r;
    if (s.servers?.some((x: any) => x.stale)) { console.log(JSON.stringify({ d: s.discovery, o: s.documents })); break; }
    await sleep(300);
  }
  for (const k of [k27, k33]) for (const c of ['v1.36', 'v1.25']) {
    for (const a of [['api-resources'], ['api-versions'], ['get', 'deployments'], ['get','all'], ['get', 'horizontalpodautoscalers.v2beta2.autoscaling'], ['get','hpa'], ['explain', 'pods'], ['apply','-f','-']]) {
      const r = await run(k, c, a, JSON.stringify({apiVersion:'v1',kind:'ConfigMap',metadata:{name:'x'}}));
      console.log(k?.version, c, a.join(' '), r.code, r.stdout.length, r.stderr);
    }
  }
  } finally { await running.stop(); }
});
