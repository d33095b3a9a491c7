import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
	type McpServer,
	ProtocolError,
	ProtocolErrorCode,
	type ReadResourceResult,
	ResourceTemplate,
} from '@modelcontextprotocol/server';
import { Failure } from '../base/failure.ts';
import { formatAddress, parseAddress } from '../core/address/dataAddress.ts';
import { listFolder } from '../files/safeFile.ts';
import { runFiles } from '../runs/runFiles.ts';
import { reportFolder, reportNames } from '../runs/runReports.ts';
import { readPart } from './filePart.ts';
import type { Runs } from './runs.ts';

/** Files listed for each run. Other files can be read by path. */
const listedFiles = [runFiles.record, runFiles.recipe, runFiles.metrics, runFiles.events, runFiles.log];
const maxListedRuns = 100;
/** Maximum number of reports listed for each run. */
const maxListedReports = 100;
const docsAddress = 'docs://reasoning-lab/';

const mimeTypes: Readonly<Record<string, string>> = {
	json: 'application/json',
	jsonl: 'application/jsonl',
	md: 'text/markdown',
};
const mimeType = (path: string) => mimeTypes[/\.(\w+)$/.exec(path)?.[1] ?? ''] ?? 'text/plain';

/**
 * Registers the files of known runs, the reports on them and the documentation pages as resources. A resource is
 * read in parts: the response contains the address of the next part in `_meta`.
 * @param docs documentation folder; null if it is not installed
 */
export function registerResources(server: McpServer, runs: Runs, docs: string | null): void {
	server.registerResource(
		'run-file',
		new ResourceTemplate('rl://{run}/file/{path}', {
			list: async () => ({ resources: await listedRunFiles(runs) }),
			complete: {
				run: async (value) => (await runs.list()).map(({ name }) => name).filter((name) => name.startsWith(value)),
			},
		}),
		{
			title: 'Run file',
			description: 'A file in a run folder, by its percent-encoded relative path. Add ?offset=BYTES to continue.',
		},
		(uri) => answering(() => readRunFile(uri.toString(), runs)),
	);
	server.registerResource(
		'report',
		new ResourceTemplate('rl://{run}/report/{name}', {
			list: async () => ({ resources: await listedReports(runs) }),
		}),
		{
			title: 'Report',
			description: 'A report that an agent wrote on a run, by name. Add ?offset=BYTES to continue.',
			mimeType: mimeTypes.md as string,
		},
		(uri) => answering(() => readReport(uri.toString(), runs)),
	);
	if (docs === null) return;
	server.registerResource(
		'docs',
		new ResourceTemplate(`${docsAddress}{page}`, {
			list: async () => ({ resources: await listedPages(docs) }),
			complete: { page: async (value) => (await pagesIn(docs)).filter((page) => page.startsWith(value)) },
		}),
		{
			title: 'Documentation',
			description: 'A page of the Reasoning Lab documentation. Add ?offset=BYTES to continue.',
			mimeType: mimeTypes.md as string,
		},
		(uri) => answering(() => readPage(uri, docs)),
	);
}

/** Converts failures to protocol errors, which carry the message to the client. */
async function answering(read: () => Promise<ReadResourceResult>): Promise<ReadResourceResult> {
	try {
		return await read();
	} catch (error) {
		throw new ProtocolError(ProtocolErrorCode.InvalidParams, Failure.from(error).toString());
	}
}

async function listedRunFiles(runs: Runs) {
	const listed = [];
	for (const { name, folder } of (await runs.list()).slice(0, maxListedRuns)) {
		const present = new Set((await listFolder(folder).catch(() => [])).map((entry) => entry.name));
		for (const path of listedFiles) {
			if (!present.has(path)) continue;
			const uri = formatAddress({ kind: 'file', run: name, path, offset: 0 });
			listed.push({ uri, name: `${name}/${path}`, mimeType: mimeType(path) });
		}
	}
	return listed;
}

async function listedReports(runs: Runs) {
	const listed = [];
	for (const { name: run, folder } of (await runs.list()).slice(0, maxListedRuns)) {
		for (const name of (await reportNames(folder)).slice(0, maxListedReports)) {
			const uri = formatAddress({ kind: 'report', run, name, offset: 0 });
			listed.push({ uri, name: `${run}/reports/${name}`, mimeType: mimeTypes.md as string });
		}
	}
	return listed;
}

async function readRunFile(uri: string, runs: Runs): Promise<ReadResourceResult> {
	const address = parseAddress(uri);
	if (address.kind !== 'file') throw new Failure('invalid', `${uri} is not the address of a run file.`);
	const { folder, name } = await runs.find(address.run);
	const { path, offset } = address;
	const part = await readPart(folder, path, offset);
	const next = part.next === null ? null : formatAddress({ kind: 'file', run: name, path, offset: part.next });
	return resource(uri, path, part, next);
}

async function readReport(uri: string, runs: Runs): Promise<ReadResourceResult> {
	const address = parseAddress(uri);
	if (address.kind !== 'report') throw new Failure('invalid', `${uri} is not the address of a report.`);
	const { run, content } = await runs.open(address.run);
	const file = `${address.name}.md`;
	const part = await readPart(await reportFolder(content), file, address.offset);
	const next = part.next === null ? null : formatAddress({ ...address, run: run.name, offset: part.next });
	return resource(uri, file, part, next);
}

async function pagesIn(docs: string): Promise<string[]> {
	const names = await readdir(docs).catch(() => []);
	return names.filter((name) => name.endsWith('.md')).sort();
}

async function listedPages(docs: string) {
	return (await pagesIn(docs)).map((page) => ({
		uri: `${docsAddress}${page}`,
		name: page,
		mimeType: mimeTypes.md as string,
	}));
}

async function readPage(uri: URL, docs: string): Promise<ReadResourceResult> {
	const page = uri.pathname.slice(1);
	if (!(await pagesIn(docs)).includes(page)) {
		throw new Failure('missing', `The documentation has no page ${page.slice(0, 200)}.`, 'List the resources.');
	}
	const offset = Number(uri.searchParams.get('offset') ?? 0);
	if (!Number.isSafeInteger(offset) || offset < 0) throw new Failure('invalid', `${uri} has an invalid offset.`);
	const part = await readPart(docs, page, offset);
	return resource(uri.toString(), page, part, part.next === null ? null : `${docsAddress}${page}?offset=${part.next}`);
}

function resource(
	uri: string,
	path: string,
	{ text, bytes }: { readonly text: string; readonly bytes: number },
	next: string | null,
): ReadResourceResult {
	const meta = { 'reasoning-lab/total_bytes': bytes, ...(next === null ? {} : { 'reasoning-lab/next': next }) };
	return { contents: [{ uri, mimeType: mimeType(path), text, _meta: meta }] };
}

/** Returns the documentation folder next to an installed program or in a clone, or null if it is missing. */
export async function docsFolder(packageFolder: string): Promise<string | null> {
	const folder = join(packageFolder, 'docs');
	return (await pagesIn(folder)).length === 0 ? null : folder;
}
