import { promptKey } from '../../../core/dataset/datasetRows.ts';
import { isHeldOut } from '../../../core/dataset/split.ts';
import type { ColumnMapping } from '../../../core/dataset/table/columnMapping.ts';
import type { RowMarks } from '../../../core/dataset/table/rowFilter.ts';
import { rolesOf } from '../../../core/dataset/table/rowRoles.ts';
import { cellText, type RowValue, type TableRow } from '../../../core/dataset/table/tableRow.ts';
import {
	type DatasetColumn,
	type DatasetFinding,
	longestCell,
	type ShownRow,
} from '../../../protocol/datasetMessages.ts';
import type { PassRates } from '../../../runs/dataset/passRates.ts';

/** Display name of the pass rate column, followed by its name in exported rows. */
export const passRateColumn = 'pass rate';
export const passRateField = 'pass_rate';

/** Computed facts about the rows of a dataset: duplicates, overlaps with test sets, held-out split, and pass rates. */
export class RowFacts {
	readonly #mapping: () => ColumnMapping;
	/** Held-out fraction. */
	share = 0.1;
	/** For each duplicate row, the earlier row that it duplicates. */
	repeats: ReadonlyMap<number, number> = new Map();
	overlaps: ReadonlyMap<number, DatasetFinding> | null = null;
	rates: PassRates | null = null;

	constructor(mapping: () => ColumnMapping) {
		this.#mapping = mapping;
	}

	/** Returns a row with its pass rate, if pass rates are known. */
	completed(value: RowValue): RowValue {
		return this.rates === null ? value : { ...value, [passRateColumn]: this.rateOf(value) };
	}

	/** Returns a row with its pass rate in export format. */
	exported(value: RowValue): RowValue {
		return this.rates === null ? value : { ...value, [passRateField]: this.rateOf(value) };
	}

	rateOf(value: RowValue): number | null {
		const { prompt } = rolesOf(value, this.#mapping());
		return prompt === null ? null : (this.rates?.of(prompt) ?? null);
	}

	isHeldOut(value: RowValue): boolean {
		const { prompt } = rolesOf(value, this.#mapping());
		return prompt !== null && isHeldOut(promptKey(prompt), this.share);
	}

	marks(row: number, value: RowValue): RowMarks {
		return {
			repeats: this.repeats.has(row),
			overlaps: this.overlaps?.has(row) === true,
			heldOut: () => this.isHeldOut(value),
		};
	}

	/** Returns a row for display, with shortened cells. */
	shown({ row, value, fault }: TableRow, columns: readonly DatasetColumn[]): ShownRow {
		if (value === null) {
			return { row, cells: columns.map(() => null), fault, repeats: false, overlaps: false, heldOut: false };
		}
		const whole = this.completed(value);
		const cells = columns.map(({ name }) => (Object.hasOwn(whole, name) ? cut(cellText(whole[name])) : null));
		const { repeats, overlaps, heldOut } = this.marks(row, whole);
		return { row, cells, fault, repeats, overlaps, heldOut: heldOut() };
	}
}

/** Shortens text to one line, ending in an ellipsis if truncated. */
function cut(text: string): string {
	const head = text.length > longestCell ? `${text.slice(0, longestCell)}\u2026` : text;
	return head.replace(/\s+/g, ' ').trim();
}
