import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { dashboardOf } from './dashboard.ts';
import { panelRows } from './dashboard-panels.ts';

// `npm run fix` then gives the file the form of the others.
const path = resolve(import.meta.dirname, '../../deploy/monitoring/dashboard.json');
writeFileSync(path, `${JSON.stringify(dashboardOf(panelRows), undefined, 2)}\n`);
console.log(`wrote ${path}`);
