/** Writes the pages and the plot of what has been recorded: `npm run lab -- report`. */
import { writeGenerated } from '../../../scripts/generate/generated-file.ts';
import { benchReport } from './bench-report.ts';

await writeGenerated(benchReport);
