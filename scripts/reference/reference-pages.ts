import { routerConfiguration, syncConfiguration } from '../../src/cli/config/configuration-kind.ts';
import { configurationJsonSchema } from './configuration-schema.ts';
import { errorsPage } from './errors-page.ts';
import { flagsPage } from './flags-page.ts';
import { http2FramesPage } from './http2-frames-page.ts';
import { lostFieldsPicture } from './lost-fields-picture.ts';
import { metricsPage } from './metrics-page.ts';

/** A page of docs/, or another file, that is written from the code. */
export interface ReferencePage {
  /** From the root of the repository. */
  readonly path: string;
  /** The whole text as it has to be. */
  readonly text: () => string;
}

/** Every such page. `npm run docs:reference` writes them, and a test fails for one that is not up to date. */
export const referencePages: readonly ReferencePage[] = [
  { path: 'docs/reference/metrics.md', text: metricsPage },
  { path: 'docs/reference/errors.md', text: errorsPage },
  { path: 'docs/reference/flags.md', text: flagsPage },
  { path: 'docs/explanation/http2-frames.md', text: http2FramesPage },
  { path: 'docs/images/lost-fields.svg', text: lostFieldsPicture },
  { path: 'deploy/config.schema.json', text: () => configurationJsonSchema(routerConfiguration) },
  { path: 'deploy/sync-config.schema.json', text: () => configurationJsonSchema(syncConfiguration) },
];
