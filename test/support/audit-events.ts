import type { AuditEvent } from '../../src/observe/audit/audit-event.ts';

/** An event that is told from others by its ID. */
export function auditEvent(auditID: string): AuditEvent {
  return {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID,
    stage: 'ResponseComplete',
    requestURI: '/api/v1/pods',
    verb: 'list',
    user: { username: 'alice' },
    requestReceivedTimestamp: '2026-01-31T12:00:00.000000Z',
    stageTimestamp: '2026-01-31T12:00:00.000000Z',
  };
}

/** The IDs of the events in a log. Throws where a line is no JSON. */
export function auditIdsOf(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as AuditEvent).auditID);
}
