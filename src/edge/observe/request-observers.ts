import { accessLog } from '../../request/access-log.ts';
import type { RequestObserver, RequestRecord } from '../../request/inbound.ts';
import type { Logger } from '../../runtime/logger.ts';
import { maskFields } from '../../runtime/mask-secrets.ts';
import type { ObserverConfiguration } from '../configuration/configuration.ts';
import type { AnalyticsDataset, DataPoint } from '../platform/bindings.ts';

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

/** Characters of a blob: all of a data point may have 16 KB, an index 96 bytes. */
const longestText = 96;

/** One data point for each request, once its response has begun: src/edge/README.md has the columns. */
function dataPoints(dataset: AnalyticsDataset, logger: Logger): RequestObserver {
  return {
    finished(record) {
      try {
        dataset.writeDataPoint(dataPointOf(record));
      } catch (error) {
        logger.warn({ err: error }, 'A data point could not be written');
      }
    },
  };
}

function dataPointOf(record: RequestRecord): DataPoint {
  const { inbound, requestInfo, decision, dropped, attempts, status, begunAt, finishedAt } = record;
  const last = attempts.at(-1);
  const failed = attempts.findLast(({ failure }) => failure !== undefined);
  const texts = [
    requestInfo?.verb ?? inbound.method,
    requestInfo?.apiGroup,
    requestInfo?.apiVersion,
    requestInfo?.resource,
    requestInfo?.subresource,
    String(status),
    decision?.decision,
    decision?.reason,
    last?.destination.id,
    dropped,
    failed?.failure,
  ];
  const servedByOlder = inbound.otherVersion?.isOlder === true;
  return {
    indexes: [(decision?.reason ?? 'none').slice(0, longestText)],
    blobs: texts.map((text = '') => text.slice(0, longestText)),
    doubles: [1, (finishedAt ?? begunAt) - begunAt, attempts.length, servedByOlder ? 1 : 0],
  };
}
