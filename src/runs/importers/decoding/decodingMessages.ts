import type { ParquetShape } from './parquetRows.ts';

/** What the decoding thread is asked. Both ends are the same program, so nothing is decoded at the boundary. */
export type DecodingRequest =
	/** A file by its descriptor, which both threads share; `key` is the caller's for the file as it is now. */
	| { readonly kind: 'shape'; readonly file: DecodedFile }
	| { readonly kind: 'rows'; readonly file: DecodedFile; readonly from: number; readonly to: number }
	| { readonly kind: 'yaml'; readonly text: string };

export interface DecodedFile {
	readonly key: number;
	readonly descriptor: number;
	readonly size: number;
}

export type DecodingResult = ParquetShape | readonly unknown[] | { readonly value: unknown };

export type DecodingAnswer =
	| { readonly id: number; readonly result: DecodingResult }
	| { readonly id: number; readonly fault: string };
