import { syncConfiguration } from '../../src/cli/sync/sync-settings.ts';
import { routerConfiguration } from '../../src/node/configuration/router-settings.ts';
import { clientAssetsModule, clientAssetsText } from '../dashboard/client-assets.ts';
import { guideTextsModule, guideTextsText } from '../dashboard/guide-texts.ts';
import { chartValuesSchema, configurationJsonSchema } from '../reference/configuration-schema.ts';
import { errorsPage } from '../reference/errors-page.ts';
import { flagsPage } from '../reference/flags-page.ts';
import { http2FramesPage } from '../reference/http2-frames-page.ts';
import { metricsPage } from '../reference/metrics-page.ts';
import { edgePage } from '../worker/bundle-size.ts';
import type { GeneratedFile } from './generated-file.ts';

/** `npm run generate` writes them, and a test fails for one that is not up to date. */
export const generatedFiles: readonly GeneratedFile[] = [
  { path: clientAssetsModule, text: clientAssetsText },
  { path: guideTextsModule, text: guideTextsText },
  { path: 'docs/reference/metrics.md', text: metricsPage },
  { path: 'docs/reference/errors.md', text: errorsPage },
  { path: 'docs/reference/flags.md', text: flagsPage },
  { path: 'packages/http2/frames.md', text: http2FramesPage },
  { path: 'src/edge/README.md', text: edgePage },
  { path: 'deploy/config.schema.json', text: () => configurationJsonSchema(routerConfiguration) },
  {
    path: 'deploy/sync-config.schema.json',
    text: () => configurationJsonSchema(syncConfiguration),
  },
  { path: 'deploy/helm/mixed-version-proxy/values.schema.json', text: chartValuesSchema },
];
