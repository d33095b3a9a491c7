import { lstat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';
import { downloadHubRows } from '../environment/hubRows.ts';
import { torchPython } from '../environment/torchPython.ts';
import { type CliOutput, printable } from './cliOutput.ts';
import { onInterrupt } from './interrupts.ts';

interface FetchOptions {
	readonly rows?: number;
	readonly out?: string;
	readonly config?: string;
	readonly split?: string;
	readonly replace?: boolean;
}

/**
 * Implements `dataset fetch`: downloads rows from a Hugging Face dataset as JSONL. Fails with `exists` or with any
 * failure of `downloadHubRows`.
 */
export async function fetchDataset(id: string, options: FetchOptions, output: CliOutput): Promise<void> {
	if (options.out === undefined) {
		throw new Failure('invalid', 'dataset fetch requires an output file.', 'Use --out FILE.');
	}
	const out = resolve(options.out);
	if (options.replace !== true && (await lstat(out).catch(() => null)) !== null) {
		throw new Failure('exists', `${out} already exists.`, 'Choose another file, or add --replace.');
	}
	const { python } = await torchPython();
	const split = options.split ?? 'train';
	const interrupt = new AbortController();
	const release = onInterrupt(() => interrupt.abort());
	try {
		const made = await downloadHubRows(
			{ id, config: options.config ?? null, split },
			{
				python,
				rows: options.rows ?? 0,
				out,
				signal: interrupt.signal,
				onProgress: (rows) => {
					if (output.isTerminal) output.draw(`\r\x1b[K${formatCounted(rows, 'row')}`);
				},
			},
		);
		if (output.isTerminal) output.draw('\r\x1b[K');
		output.object({ kind: 'dataset', file: out, source: id, config: options.config ?? null, split, ...made });
		output.line(
			printable(`${out}: ${made.whole ? '' : 'the first '}${formatCounted(made.rows, 'row')} from ${id} (${split})`),
		);
	} finally {
		release();
	}
}
