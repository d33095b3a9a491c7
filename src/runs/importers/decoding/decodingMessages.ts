/** What the decoding thread is asked. Both ends are the same program, so nothing is decoded at the boundary. */
export type DecodingRequest =
	/** A file by its descriptor, which both threads share; `key` is the caller's for the file as it is now. */
	| { readonly kind: 'shape'; readonly file: DecodedFile }
	| { readonly kind: 'rows'; readonly file: DecodedFile; readonly from: number; readonly to: number }
	| { readonly kind: 'yaml'; readonly text: string };

/** Formats of columns that are decoded in the thread. */
export type ColumnarFormat = 'parquet' | 'arrow';

export interface DecodedFile {
	readonly format: ColumnarFormat;
	readonly key: number;
	readonly descriptor: number;
	readonly size: number;
}

export interface TableShape {
	/** Rows of each row group of Parquet, or of each record batch of Arrow. */
	readonly groups: readonly number[];
	/** Of the whole file, as distinguished from those of the groups. */
	readonly rows: number;
	readonly columns: readonly string[];
}

export type DecodingResult = TableShape | readonly unknown[] | { readonly value: unknown };

export type DecodingAnswer =
	| { readonly id: number; readonly result: DecodingResult }
	| { readonly id: number; readonly fault: string };
