/** Requests to the decoding thread. Both ends are the same program, so messages are not validated. */
export type DecodingRequest =
	/**
	 * File descriptor, shared by both threads; `key` is chosen by the caller and identifies the current version of the
	 * file.
	 */
	| { readonly kind: 'shape'; readonly file: DecodedFile }
	| { readonly kind: 'rows'; readonly file: DecodedFile; readonly from: number; readonly to: number }
	| { readonly kind: 'yaml'; readonly text: string };

/** Columnar formats decoded in the thread. */
export type ColumnarFormat = 'parquet' | 'arrow';

/** A table, or a list in a torch.save file. */
export type DecodedForm = { readonly format: ColumnarFormat } | { readonly format: 'torch'; readonly list: string };

export type DecodedFile = DecodedForm & {
	readonly key: number;
	readonly descriptor: number;
	readonly size: number;
};

export interface TableShape {
	/** Number of rows in each Parquet row group or Arrow record batch; a list is a single group. */
	readonly groups: readonly number[];
	/** Number of rows in the whole file, as opposed to the groups. */
	readonly rows: number;
	readonly columns: readonly string[];
}

export type DecodingResult = TableShape | readonly unknown[] | { readonly value: unknown };

export type DecodingAnswer =
	| { readonly id: number; readonly result: DecodingResult }
	| { readonly id: number; readonly fault: string };
