import { accessLog } from '../../request/access-log.ts';
import type { RequestObserver } from '../../request/inbound.ts';
import type { Logger } from '../../runtime/logger.ts';
import { maskFields } from '../../runtime/mask-secrets.ts';
import type { ObserverConfiguration } from '../configuration/configuration.ts';
import { dataPoints } from './data-points.ts';

/** A module of its own: only a Worker that is told to observe loads it. */
export function createRequestObservers(
  { accessLog: isLogged, analytics }: ObserverConfiguration,
  logger: Logger,
): readonly RequestObserver[] {
  const masking: Logger = { ...logger, info: (fields, message) => logger.info(maskFields(fields), message) };
  return [
    ...(isLogged ? [accessLog(masking)] : []),
    ...(analytics === undefined ? [] : [dataPoints(analytics, logger)]),
  ];
}
