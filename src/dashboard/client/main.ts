import { explainWithoutReload } from './explain-form.ts';
import { keepUpToDate } from './live.ts';
import { arrangeRows } from './rows.ts';
import { tellTimes } from './times.ts';

tellTimes();
arrangeRows();
keepUpToDate();
explainWithoutReload();
