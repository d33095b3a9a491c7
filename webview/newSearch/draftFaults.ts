import * as v from 'valibot';
import { Failure } from '../../src/base/failure.ts';
import { typedValue } from '../../src/core/search/paramFields.ts';
import type { StepSplit } from '../../src/core/search/search.ts';
import { stepRuleOf } from '../../src/core/search/stepRule.ts';
import type { SearchDraft } from '../../src/protocol/newSearchMessages.ts';
import { searchEnvironmentSchema } from '../../src/protocol/searchSpec.ts';
import type { EnvironmentRows } from './environmentRows.ts';

/* Each function returns a message about a missing or invalid part of a draft, or null if there is none. */

export function problemFault({ problem }: SearchDraft): string | null {
	return (problem?.prompt ?? '').trim() === '' ? 'Enter a problem.' : null;
}

/** @param turns text of the turn limit; null if nothing was entered */
export function episodeFault({ problem }: SearchDraft, turns: string | null, rows: EnvironmentRows): string | null {
	if (turns !== null && !v.is(searchEnvironmentSchema.entries.maxTurns, typedValue(turns))) {
		return 'Enter a number of turns from 1 to 10,000.';
	}
	if (problem !== undefined) return null;
	return rows.offered === null && rows.failure === null ? 'Reading rows…' : 'Select a row.';
}

export function splitFault(split: NonNullable<SearchDraft['split']>): string | null {
	if (typeof split !== 'string') return split.text === '' ? 'Enter the text that ends a step.' : null;
	try {
		stepRuleOf(split as StepSplit);
		return null;
	} catch (error) {
		return Failure.from(error).message;
	}
}
