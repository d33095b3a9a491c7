import { parentPort } from 'node:worker_threads';
import { ArrowRows } from './arrowRows.ts';
import type { DecodedFile, DecodingAnswer, DecodingRequest, DecodingResult } from './decodingMessages.ts';
import { ParquetRows } from './parquetRows.ts';
import { TorchRows } from './torchRows.ts';
import { parseYaml } from './yamlText.ts';

/*
 * Decodes untrusted data that may be malicious: Parquet pages, Arrow offsets, pickles and YAML documents that claim to be huge.
 * A separate thread has bounded memory, can be terminated, and does not block the caller.
 */

/** Number of recently requested files to keep open. */
const keptFiles = 2;
type Rows = ParquetRows | ArrowRows | TorchRows;
const files = new Map<number, Rows>();

function opened(file: DecodedFile): Rows {
	const { descriptor, size } = file;
	if (file.format === 'torch') return new TorchRows(descriptor, size, file.list);
	return file.format === 'arrow' ? new ArrowRows(descriptor, size) : new ParquetRows(descriptor, size);
}

function fileOf(requested: DecodedFile): Rows {
	const { key } = requested;
	const file = files.get(key) ?? opened(requested);
	files.delete(key);
	files.set(key, file);
	if (files.size > keptFiles) files.delete(files.keys().next().value as number);
	return file;
}

async function answer(request: DecodingRequest): Promise<DecodingResult> {
	switch (request.kind) {
		case 'shape':
			return fileOf(request.file).shape();
		case 'rows':
			return fileOf(request.file).rows(request.from, request.to);
		case 'yaml':
			return { value: parseYaml(request.text) };
	}
}

// The columns of a damaged row group are read concurrently. The first failure is the response, and later ones have no
// handler. Left unhandled, they would terminate the thread during the next request, even one for another file.
process.on('unhandledRejection', () => undefined);

parentPort?.on('message', async ({ id, request }: { id: number; request: DecodingRequest }) => {
	let message: DecodingAnswer;
	try {
		message = { id, result: await answer(request) };
	} catch (error) {
		message = { id, fault: error instanceof Error ? error.message : String(error) };
	}
	parentPort?.postMessage(message);
});
