import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, extname, join, relative } from 'node:path';
import { Failure } from '../base/failure.ts';
import { readNamed } from '../files/safeFile.ts';

/** A copy of a reward file and its local imports from a repository revision, in a separate folder. */
export interface RevisionCopy {
	/** Absolute path. The folder structure above the file matches the repository. */
	readonly file: string;
	/** Display name, such as "HEAD (580a94b)". */
	readonly label: string;
	/** Whether the text matches the working copy. */
	readonly unchanged: boolean;
	dispose(): Promise<void>;
}

export const revisionLimits = { files: 4_000, bytes: 64 << 20, fileBytes: 8 << 20, timeoutMs: 20_000 } as const;

const largestOutput = 96 << 20;
const sources = new Set(['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs', '.json', '.py']);

interface GitOutput {
	readonly status: number | null;
	readonly stdout: Buffer;
	readonly stderr: string;
}

/**
 * Runs git in a folder. Ignores environment variables that would redirect it to another repository, and disables
 * prompts.
 */
function git(folder: string, args: readonly string[], input?: string, signal?: AbortSignal): Promise<GitOutput> {
	const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')));
	return new Promise((resolve, reject) => {
		const child = spawn('git', ['-C', folder, ...args], {
			stdio: ['pipe', 'pipe', 'pipe'],
			windowsHide: true,
			env: {
				...environment,
				GIT_TERMINAL_PROMPT: '0',
				GIT_OPTIONAL_LOCKS: '0',
				GIT_NO_LAZY_FETCH: '1',
				LC_ALL: 'C',
			},
		});
		const chunks: Buffer[] = [];
		let size = 0;
		let stderr = '';
		const end = (failure: Failure) => {
			child.kill('SIGKILL');
			reject(failure);
		};
		const timer = setTimeout(
			() => end(new Failure('timeout', `git did not respond in ${folder}.`, 'Check that git works in that folder.')),
			revisionLimits.timeoutMs,
		);
		const abort = () => end(new Failure('cancelled', 'Canceled.'));
		signal?.addEventListener('abort', abort);
		if (signal?.aborted) abort();
		child.stdout.on('data', (chunk: Buffer) => {
			size += chunk.length;
			if (size > largestOutput)
				end(new Failure('invalid', `The repository that contains ${folder} is too large for a comparison.`));
			else chunks.push(chunk);
		});
		child.stderr.on('data', (chunk: Buffer) => {
			if (stderr.length < 8_000) stderr += chunk.toString('utf8');
		});
		const settle = () => {
			clearTimeout(timer);
			signal?.removeEventListener('abort', abort);
		};
		child.on('error', (error: NodeJS.ErrnoException) => {
			settle();
			reject(
				error.code === 'ENOENT'
					? new Failure('unavailable', 'git is not installed or not on the PATH.', 'Install git, or compare two files.')
					: Failure.from(error, 'Cannot run git'),
			);
		});
		child.on('close', (status) => {
			settle();
			resolve({ status, stdout: Buffer.concat(chunks), stderr });
		});
		child.stdin.on('error', () => {});
		child.stdin.end(input ?? '');
	});
}

async function repositoryOf(file: string, signal: AbortSignal | undefined): Promise<string> {
	const { status, stdout, stderr } = await git(dirname(file), ['rev-parse', '--show-toplevel'], undefined, signal);
	const top = stdout.toString('utf8').replace(/\r?\n$/, '');
	if (status === 0 && top !== '') return await realpath(top);
	if (stderr.includes('dubious ownership')) {
		throw new Failure(
			'denied',
			`git does not trust the repository that contains ${file} because it is owned by a different user.`,
			'Add the repository folder to safe.directory in your git config.',
		);
	}
	throw new Failure('missing', `${file} is not in a git repository.`, 'Compare it with another file instead.');
}

interface Blob {
	readonly path: string;
	readonly id: string;
	readonly size: number;
}

/** Returns a revision's regular files. Skips links and submodules. */
function parseTree(output: Buffer): Blob[] {
	const blobs: Blob[] = [];
	for (const entry of output.toString('utf8').split('\0')) {
		const match = /^100(?:644|755) blob ([0-9a-f]{40,64}) +(\d+)\t(.+)$/s.exec(entry);
		if (match === null) continue;
		const path = match[3] as string;
		// A hand-crafted tree can contain arbitrary paths.
		if (path.split('/').some((part) => part === '' || part === '.' || part === '..' || /[\\:]/.test(part))) continue;
		blobs.push({ path, id: match[1] as string, size: Number(match[2]) });
	}
	return blobs;
}

/**
 * Selects files that a reward might import: source files, plus all files in the reward's folder. The nearest files come
 * first, up to the limits.
 */
function chooseBlobs(blobs: readonly Blob[], entry: string): Blob[] {
	const own = dirname(entry);
	const distance = (path: string) => {
		const steps = relative(own, dirname(path));
		return steps === '' ? 0 : steps.split(/[\\/]/).length;
	};
	const ranked = blobs
		.filter(
			({ path, size }) => size <= revisionLimits.fileBytes && (sources.has(extname(path)) || distance(path) === 0),
		)
		.map((blob) => ({ blob, rank: blob.path === entry ? -1 : distance(blob.path) }))
		.sort((a, b) => a.rank - b.rank || (a.blob.path < b.blob.path ? -1 : 1));
	const chosen: Blob[] = [];
	let bytes = 0;
	for (const { blob } of ranked) {
		bytes += blob.size;
		if (chosen.length >= revisionLimits.files || bytes > revisionLimits.bytes) break;
		chosen.push(blob);
	}
	return chosen;
}

/**
 * Parses the output of `git cat-file --batch`, with one "<id> blob <size>\n<content>\n" per object. Returns the
 * contents in the order of the ids.
 */
function parseBatch(output: Buffer, count: number): Buffer[] {
	const contents: Buffer[] = [];
	let at = 0;
	while (contents.length < count) {
		const end = output.indexOf(0x0a, at);
		const head = end < 0 ? null : /^[0-9a-f]+ blob (\d+)$/.exec(output.toString('latin1', at, end));
		if (!head) throw new Failure('corrupt', 'git did not list the files in the revision.', 'Run git fsck.');
		const size = Number(head[1]);
		contents.push(output.subarray(end + 1, end + 1 + size));
		at = end + 1 + size + 1;
	}
	return contents;
}

const plain = (text: string) => text.replaceAll('\r\n', '\n');

const isFolder = async (path: string) => (await stat(path).catch(() => null))?.isDirectory() ?? false;

/** Links the working copy's installed packages, because packages are not tracked in git. */
async function linkPackages(top: string, root: string, entry: string): Promise<void> {
	for (let folder = dirname(entry); ; folder = dirname(folder)) {
		const packages = join(top, folder, 'node_modules');
		const place = join(root, folder, 'node_modules');
		if ((await isFolder(packages)) && !(await isFolder(place)))
			await symlink(packages, place, 'junction').catch(() => {});
		if (folder === '.') return;
	}
}

/**
 * Copies a reward file as of a revision. Reads only repository objects: no hooks, filters or checkouts are run. Fails
 * with `missing` (no repository, or file not tracked), `unavailable` (no git), `denied`, `timeout` or `cancelled`.
 */
export async function copyRevision(
	file: string,
	{ revision = 'HEAD', signal }: { readonly revision?: string; readonly signal?: AbortSignal } = {},
): Promise<RevisionCopy> {
	if (!/^\w[\w./~^@-]*$/.test(revision)) throw new Failure('invalid', `"${revision}" is not a valid revision.`);
	const real = await realpath(file).catch((error: unknown) => {
		throw Failure.from(error, `Cannot read ${file}`);
	});
	const top = await repositoryOf(real, signal);
	const entry = relative(top, real).replaceAll('\\', '/');
	const commit = await git(top, ['rev-parse', '--verify', '--short', `${revision}^{commit}`], undefined, signal);
	if (commit.status !== 0) {
		throw new Failure(
			'missing',
			`The repository that contains ${basename(file)} has no ${revision === 'HEAD' ? 'commits yet' : `revision ${revision}`}.`,
			'Commit the file first.',
		);
	}
	const tree = await git(top, ['ls-tree', '-r', '-z', '-l', '--full-tree', revision], undefined, signal);
	if (tree.status !== 0) throw new Failure('corrupt', `git cannot list ${revision}: ${tree.stderr.trim()}`);
	const blobs = parseTree(tree.stdout);
	if (!blobs.some(({ path }) => path === entry)) {
		throw new Failure(
			'missing',
			`${entry} does not exist in ${revision}.`,
			'Commit the file first, or compare it with another file.',
		);
	}
	const chosen = chooseBlobs(blobs, entry);
	if (chosen[0]?.path !== entry)
		throw new Failure('invalid', `${entry} in ${revision} is too large to be a reward file.`);
	const batch = await git(top, ['cat-file', '--batch'], chosen.map(({ id }) => `${id}\n`).join(''), signal);
	// The first blob is the entry.
	const contents = parseBatch(batch.stdout, chosen.length);
	const here = (await readNamed(real).catch(() => Buffer.alloc(0))).toString('utf8');
	const root = await realpath(await mkdtemp(join(tmpdir(), 'reasoning-lab-revision-')));
	const dispose = () => rm(root, { recursive: true, force: true });
	try {
		for (const [i, { path }] of chosen.entries()) {
			const target = join(root, ...path.split('/'));
			await mkdir(dirname(target), { recursive: true });
			await writeFile(target, contents[i] as Buffer);
		}
		await linkPackages(top, root, entry);
	} catch (error) {
		await dispose();
		throw Failure.from(error, `Cannot copy ${entry} from ${revision}`);
	}
	return {
		file: join(root, ...entry.split('/')),
		label: `${revision} (${commit.stdout.toString('utf8').trim()})`,
		// On Windows, a checkout can have different line endings.
		unchanged: plain(here) === plain((contents[0] as Buffer).toString('utf8')),
		dispose,
	};
}
