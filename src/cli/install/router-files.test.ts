import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { kubeadmManifest } from '../../../test/support/installation/kubeadm-layout.ts';
import { routerRights } from './reader-rights.ts';
import { flagPatch, probePatch, routerConfiguration, routerManifest, usedFiles } from './router-files.ts';

const deploy = (path: string) => readFileSync(join(import.meta.dirname, '../../../deploy', path), 'utf8');
const fileOf = (path: string) => parse(deploy(`static-pod/${path}`));

const kubeadm = kubeadmManifest({ pki: '/etc/kubernetes/pki', securePort: 6443 });

test('the router may read the files of kube-apiserver that it uses, and no key of an authority or of service accounts', () => {
  const inPki = (name: string) => `/etc/kubernetes/pki/${name}`;
  const used = ['apiserver.crt', 'apiserver.key', 'ca.crt', 'front-proxy-ca.crt'].map(inPki);
  assert.deepEqual(usedFiles(kubeadm), [
    ...used,
    ...['front-proxy-client.crt', 'front-proxy-client.key'].map(inPki),
  ]);
  const flags = { 'tls-sni-cert-key': '/etc/ssl/certs/api.crt,/etc/ssl/certs/api.key:api.example.com' };
  const named = usedFiles(kubeadmManifest({ pki: '/etc/kubernetes/pki', securePort: 6443, flags }));
  assert.deepEqual(named.slice(-2), ['/etc/ssl/certs/api.crt', '/etc/ssl/certs/api.key']);
});

test('what is written to a node is what deploy/static-pod has for it', () => {
  assert.deepEqual(
    parse(routerManifest('mixed-version-proxy:0.1.0', 7443, usedFiles(kubeadm))),
    fileOf('mixed-version-proxy.yaml'),
  );
  assert.deepEqual(parse(routerConfiguration(7443)), fileOf('config.yaml'));
  assert.deepEqual(parse(probePatch(6444)).spec, fileOf('kube-apiserver+strategic.yaml').spec);
});

test('an image is a name and nothing else, whatever is in it', () => {
  const image = 'a: "b"\n  x: # y';
  assert.equal(parse(routerManifest(image, 6443, [])).spec.containers[0].image, image);
});

test('a node that starts needs no registry: an image that is there is not pulled again, whatever its tag', () => {
  const [{ imagePullPolicy }] = parse(routerManifest('registry.example/router:latest', 6443, [])).spec
    .containers;
  assert.equal(imagePullPolicy, 'IfNotPresent');
});

test('the patch of the flag is appended to the command, whatever kubeadm has written there', () => {
  assert.deepEqual(parse(flagPatch(6444)), [
    { op: 'add', path: '/spec/containers/0/command/-', value: '--secure-port=6444' },
  ]);
});

test('the rights that are given are those of deploy/kubernetes', () => {
  const shipped = ['reader.yaml', 'own-paths.yaml'].flatMap((name) =>
    parseAllDocuments(deploy(`kubernetes/${name}`)).map((document) => document.toJS()),
  );
  for (const { object } of routerRights) {
    const { kind, metadata } = object;
    const whole = shipped.find(
      (each) =>
        each.kind === kind &&
        each.metadata.name === metadata.name &&
        each.metadata.namespace === metadata.namespace,
    );
    // An installation has neither a ServiceAccount nor a sync job to bind.
    const { subjects = [], ...rest } = whole;
    const { subjects: own = [], ...ownRest } = object as typeof whole;
    assert.deepEqual(ownRest, rest);
    for (const each of own)
      assert.deepEqual(subjects.filter(({ name }: { name: string }) => name === each.name).at(-1), each);
  }
});
