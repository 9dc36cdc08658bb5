import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { dashboardText } from './dashboard.ts';
import { panelRows } from './dashboard-panels.ts';

const path = resolve(import.meta.dirname, '../../deploy/monitoring/dashboard.json');
writeFileSync(path, dashboardText(panelRows));
console.log(`wrote ${path}`);
