import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeProtobufObject } from '../../demo/example-api-server/protobuf/decode.ts';
import { readFields, writeField } from '../../demo/example-api-server/protobuf/wire.ts';

const join = (...parts: readonly Uint8Array[]): Buffer => Buffer.concat(parts);

/** The envelope of Kubernetes: the magic, the type, the object. */
function envelope(apiVersion: string, kind: string, object: Uint8Array): Buffer {
  const type = join(writeField(1, apiVersion), writeField(2, kind));
  return join(Buffer.from('k8s\0'), writeField(1, type), writeField(2, object));
}

describe('a protobuf body', () => {
  it('becomes the object it would be in JSON', () => {
    const label = join(writeField(1, 'app'), writeField(2, 'web'));
    // As Go's clients write it: a generation of zero, which JSON would leave out.
    const generation = Uint8Array.from([7 * 8, 0]);
    const metadata = join(writeField(1, 'a'), writeField(2, ''), generation, writeField(11, label));
    const data = join(writeField(1, 'key'), writeField(2, 'value'));
    const binary = join(writeField(1, 'raw'), writeField(2, Uint8Array.from([0, 255])));
    const immutable = Uint8Array.from([4 * 8, 1]);
    const object = join(writeField(1, metadata), writeField(2, data), writeField(3, binary), immutable);
    assert.deepEqual(decodeProtobufObject(envelope('v1', 'ConfigMap', object)), {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', labels: { app: 'web' } },
      data: { key: 'value' },
      binaryData: { raw: 'AP8=' },
      immutable: true,
    });
  });

  it('has times, quantities and what may be a number or text as JSON has them', () => {
    // 1: 2024-01-02T03:04:05Z in seconds; 2: 678,000 nanoseconds.
    const renewTime = Buffer.from('08a5facdac0610f0b029', 'hex');
    const spec = join(writeField(1, 'me'), Uint8Array.from([2 * 8, 15]), writeField(4, renewTime));
    assert.deepEqual(
      decodeProtobufObject(envelope('coordination.k8s.io/v1', 'Lease', writeField(2, spec)))?.['spec'],
      { holderIdentity: 'me', leaseDurationSeconds: 15, renewTime: '2024-01-02T03:04:05.000678Z' },
    );
    const hard = join(writeField(1, 'cpu'), writeField(2, writeField(1, '500m')));
    assert.deepEqual(
      decodeProtobufObject(envelope('v1', 'ResourceQuota', writeField(2, writeField(1, hard))))?.['spec'],
      { hard: { cpu: '500m' } },
    );
    const budget = join(
      writeField(1, join(Uint8Array.from([8, 1]), writeField(3, '50%'))),
      writeField(3, Uint8Array.from([8, 0, 16, 2])),
    );
    assert.deepEqual(
      decodeProtobufObject(envelope('policy/v1', 'PodDisruptionBudget', writeField(2, budget)))?.['spec'],
      { minAvailable: '50%', maxUnavailable: 2 },
    );
  });

  it('has the fields of its version and what is embedded beside the others', () => {
    const utilization = join(writeField(1, 'Utilization'), Uint8Array.from([4 * 8, 50]));
    const resource = join(writeField(1, 'cpu'), writeField(2, utilization));
    const spec = writeField(4, join(writeField(1, 'Resource'), writeField(4, resource)));
    const autoscaler = (apiVersion: string, bytes: Uint8Array) =>
      decodeProtobufObject(envelope(apiVersion, 'HorizontalPodAutoscaler', writeField(2, bytes)))?.['spec'];
    assert.deepEqual(autoscaler('autoscaling/v1', Uint8Array.from([4 * 8, 50])), {
      targetCPUUtilizationPercentage: 50,
    });
    const target = { type: 'Utilization', averageUtilization: 50 };
    assert.deepEqual(autoscaler('autoscaling/v2', spec), {
      metrics: [{ type: 'Resource', resource: { name: 'cpu', target } }],
    });
    const rule = join(writeField(1, 'host'), writeField(2, writeField(1, writeField(1, writeField(1, '/')))));
    assert.deepEqual(
      decodeProtobufObject(envelope('networking.k8s.io/v1', 'Ingress', writeField(2, writeField(3, rule))))?.[
        'spec'
      ],
      { rules: [{ host: 'host', http: { paths: [{ path: '/' }] } }] },
    );
  });

  it('is not guessed at when its kind is not known here', () => {
    assert.equal(decodeProtobufObject(envelope('v1', 'LimitRange', new Uint8Array())), undefined);
  });

  it('is refused when it is none, or ends inside a field', () => {
    const badRequest = (error: unknown): boolean => (error as { reason?: string }).reason === 'BadRequest';
    assert.throws(() => decodeProtobufObject(Buffer.from('{"a":1}')), badRequest);
    const whole = envelope('v1', 'ConfigMap', writeField(1, writeField(1, 'a')));
    assert.throws(() => decodeProtobufObject(whole.subarray(0, whole.length - 1)), badRequest);
  });

  it('keeps lengths of more than one byte', () => {
    const text = 'x'.repeat(40_000);
    const [field] = [...readFields(writeField(7, text))];
    assert.equal(field?.field, 7);
    assert.equal(field?.kind === 'bytes' && Buffer.from(field.value).toString(), text);
  });
});
