import { completionIn } from '../../../test/support/completion-in-shell.ts';

// Its terminal is waited for at each question.
completionIn('zsh');
