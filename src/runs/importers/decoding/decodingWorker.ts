import { parentPort } from 'node:worker_threads';
import { ArrowRows } from './arrowRows.ts';
import type { DecodedFile, DecodingAnswer, DecodingRequest, DecodingResult } from './decodingMessages.ts';
import { ParquetRows } from './parquetRows.ts';
import { parseYaml } from './yamlText.ts';

/*
 * Decodes untrusted data that may be malicious: Parquet pages, Arrow offsets and YAML documents that claim to be huge.
 * A separate thread has bounded memory, can be terminated, and does not block the caller.
 */

/** Number of recently requested files to keep open. */
const keptFiles = 2;
const files = new Map<number, ParquetRows | ArrowRows>();

function fileOf({ format, key, descriptor, size }: DecodedFile): ParquetRows | ArrowRows {
	const file =
		files.get(key) ?? (format === 'arrow' ? new ArrowRows(descriptor, size) : new ParquetRows(descriptor, size));
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
// handler. Left unhandled, they would terminate the thread during the next request, for another file.
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
