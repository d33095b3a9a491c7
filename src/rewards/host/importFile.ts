import { access } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { LoadFailureData } from '../../protocol/rewardHost.ts';
import type { LocalImports } from './localImports.ts';
import { RewardFileSource } from './rewardSource.ts';
import { describeThrown, messageOf } from './userFrames.ts';

/** Thrown if a file cannot be loaded. Sent to the client as JSON-RPC error data. */
export class LoadFault extends Error {
	readonly data: LoadFailureData;
	constructor(data: LoadFailureData) {
		super(data.message);
		this.data = data;
	}
}

/**
 * Imports a user's file and returns its exports.
 * @param noun what the file contains
 * @param own folder that contains this program
 * @throws LoadFault
 */
export async function importFile(
	file: string,
	noun: 'reward' | 'environment',
	imports: LocalImports,
	own: string,
): Promise<Record<string, unknown>> {
	await access(file).catch(() => {
		throw new LoadFault({ reason: 'missing', message: `The ${noun} file ${file} does not exist`, file });
	});
	if (/\.[cm]?ts$/.test(file) && !process.features.typescript) {
		const other = noun === 'reward' ? ', or write the reward in JavaScript' : '';
		throw new LoadFault({
			reason: 'unsupported',
			message: `Node ${process.versions.node} was built without TypeScript support`,
			action: `Set reasoningLab.node.path to Node 22.18 or newer${other}.`,
			file,
		});
	}
	try {
		return (await import(pathToFileURL(file).href)) as Record<string, unknown>;
	} catch (error) {
		throw new LoadFault(explainImport(error, file, imports, own));
	}
}

/** Returns a parsed file, or null if it cannot be parsed. Node was able to load it, so only locations are unknown. */
export function sourceOf(file: string): RewardFileSource | null {
	try {
		return new RewardFileSource(file);
	} catch {
		return null;
	}
}

function explainImport(error: unknown, file: string, imports: LocalImports, own: string): LoadFailureData {
	const message = messageOf(error);
	const code = (error as { code?: unknown } | null)?.code;
	if (code === 'ERR_MODULE_NOT_FOUND' || code === 'ERR_UNSUPPORTED_DIR_IMPORT') return explainMissing(error as Error);
	if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') {
		return {
			reason: 'invalid',
			message,
			action: 'Use only erasable TypeScript syntax: no enums, namespaces or parameter properties.',
			...headOf(error),
		};
	}
	if (error instanceof SyntaxError) return { reason: 'invalid', message, ...syntaxPlace(error, file, imports) };
	const { stack, line } = describeThrown(error, file, own);
	return {
		reason: 'invalid',
		message,
		file,
		...(line === undefined ? {} : { line }),
		...(stack === undefined ? {} : { stack }),
	};
}

/** Parses `/folder/file.ts:3`, which Node prints at the start of the stack for errors in a file's source text. */
function headOf(error: unknown): { file?: string; line?: number } {
	const head = /^(file:\/\/.*|\/.*|[A-Za-z]:\\.*):(\d+)\n/.exec(String((error as Error).stack));
	if (head === null) return {};
	const path = head[1] as string;
	return { file: path.startsWith('file:') ? fileURLToPath(path) : path, line: Number(head[2]) };
}

/**
 * Returns the location of a syntax error, either as reported by Node or found by parsing the loaded files, newest
 * first.
 */
function syntaxPlace(error: SyntaxError, file: string, imports: LocalImports): { file?: string; line?: number } {
	const head = headOf(error);
	if (head.file !== undefined) return head;
	for (const path of [...imports.files].reverse()) {
		try {
			new RewardFileSource(path);
		} catch (found) {
			const line = (found as { line?: unknown }).line;
			if (found instanceof SyntaxError) return { file: path, ...(typeof line === 'number' ? { line } : {}) };
		}
	}
	return { file };
}

/** Explains a missing module, including the line that imports it. */
function explainMissing(error: Error): LoadFailureData {
	const [, kind, name = '', importer = ''] =
		/^Cannot find (package|module) '(.+)' imported from (.+)$/.exec(error.message) ?? [];
	const importedFrom = importer.startsWith('file:') ? fileURLToPath(importer) : importer;
	const source = importedFrom === '' ? null : sourceOf(importedFrom);
	const found = source?.imports().find(({ specifier }) => {
		if (kind === 'package') return specifier === name || specifier.startsWith(`${name}/`);
		return resolve(dirname(importedFrom), specifier) === name || specifier === pathToFileURL(name).href;
	});
	const action =
		name === 'reasoning-lab'
			? "This module contains only types. Use `import type { Reward } from 'reasoning-lab'`."
			: kind === 'package'
				? `Install it next to the file (npm install ${name}), or remove the import.`
				: 'Fix the path. It must include the file extension.';
	return {
		reason: 'invalid',
		message: kind === undefined ? messageOf(error) : `Cannot find ${kind} '${found?.specifier ?? name}'`,
		action,
		...(importedFrom === '' ? {} : { file: importedFrom }),
		...(found === undefined ? {} : { line: found.line }),
	};
}
