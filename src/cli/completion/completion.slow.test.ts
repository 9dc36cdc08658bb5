import { completionIn } from '../../../test/support/commands/completion-in-shell.ts';

// Its terminal is waited for at each question.
completionIn('zsh');
