import { pinOf } from './requirements.ts';

/** Progress reported by a line of pip or uv output. */
export type InstallNews =
	| { readonly kind: 'resolving'; readonly item: string }
	| { readonly kind: 'downloading'; readonly item: string; readonly bytes: number | null }
	| { readonly kind: 'downloaded'; readonly item: string }
	/** Bytes of the current download. */
	| { readonly kind: 'part'; readonly done: number; readonly total: number }
	| { readonly kind: 'installing'; readonly packages: number };

const units: Readonly<Record<string, number>> = {
	...{ bytes: 1, b: 1, kb: 1e3, mb: 1e6, gb: 1e9 },
	...{ kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30 },
};

/** Parses a line of pip or uv output. Returns null if the line does not report progress. */
export function readInstallLine(line: string): InstallNews | null {
	const text = line.trim();
	// pip, with --progress-bar raw
	const part = /^Progress (\d+) of (\d+)$/.exec(text);
	if (part !== null) return { kind: 'part', done: Number(part[1]), total: Number(part[2]) };
	const collecting = /^Collecting (\S+)/.exec(text);
	if (collecting !== null) return { kind: 'resolving', item: pinOf(collecting[1] as string).name };
	const local = /^Processing \S*?([\w.]+)-[^/\\]+\.whl/.exec(text);
	if (local !== null) return { kind: 'resolving', item: local[1] as string };
	const file = /^(?:Downloading|Using cached) (\S+?)(?:\s+\(([\d.]+) (\w+)\))?$/.exec(text);
	if (file !== null && /[-/].*\.(whl|tar\.gz|zip)|\.metadata$/.test(file[1] as string)) {
		const [, path = '', size, unit] = file;
		if (path.endsWith('.metadata')) return null;
		const item = (path.split('/').at(-1) ?? '').split('-')[0] as string;
		if (text.startsWith('Using')) return { kind: 'downloaded', item };
		return { kind: 'downloading', item, bytes: inBytes(size, unit) };
	}
	const collected = /^Installing collected packages: (.+)$/.exec(text);
	if (collected !== null) return { kind: 'installing', packages: (collected[1] as string).split(',').length };
	// uv
	const began = /^Downloading ([\w.-]+) \(([\d.]+)\s?(\w+)\)$/.exec(text);
	if (began !== null) {
		return { kind: 'downloading', item: began[1] as string, bytes: inBytes(began[2], began[3]) };
	}
	const ended = /^Downloaded ([\w.-]+)$/.exec(text);
	if (ended !== null) return { kind: 'downloaded', item: ended[1] as string };
	const prepared = /^Prepared (\d+) packages?/.exec(text);
	if (prepared !== null) return { kind: 'installing', packages: Number(prepared[1]) };
	return null;
}

function inBytes(size: string | undefined, unit: string | undefined): number | null {
	const factor = units[(unit ?? '').toLowerCase()];
	return size === undefined || factor === undefined ? null : Number(size) * factor;
}

/** Tracks installation progress from the output so far and the expected download size. */
export class InstallMeter {
	readonly #expected: number;
	readonly #sizes = new Map<string, number>();
	#done = 0;
	#current: string | null = null;
	#part = 0;
	#installing = false;

	constructor(expectedBytes: number) {
		this.#expected = Math.max(1, expectedBytes);
	}

	/** @returns a description of the current activity, or null if it is unchanged */
	take(line: string): string | null {
		const news = readInstallLine(line);
		if (news === null) return null;
		switch (news.kind) {
			case 'resolving':
				this.#installing = false;
				return `resolving ${news.item}`;
			case 'downloading':
				this.#installing = false;
				this.#finish(this.#current);
				this.#current = news.item;
				if (news.bytes !== null) this.#sizes.set(news.item, news.bytes);
				return `downloading ${news.item}${news.bytes === null ? '' : ` (${megabytes(news.bytes)})`}`;
			case 'downloaded':
				this.#finish(news.item);
				return null;
			case 'part':
				this.#part = news.done;
				return this.#current === null || news.total < 50e6
					? null
					: `downloading ${this.#current} (${megabytes(news.done)} of ${megabytes(news.total)})`;
			case 'installing':
				this.#finish(this.#current);
				this.#installing = true;
				return `installing ${news.packages} packages`;
		}
	}

	/** Fraction completed, 0 to 1. The final portion is reserved for unpacking. */
	get fraction(): number {
		if (this.#installing) return 0.85;
		return Math.min(0.8, (0.8 * (this.#done + this.#part)) / this.#expected);
	}

	#finish(item: string | null): void {
		if (item === null) return;
		this.#done += this.#sizes.get(item) ?? 0;
		this.#sizes.delete(item);
		if (this.#current === item) this.#current = null;
		this.#part = 0;
	}
}

const megabytes = (bytes: number): string => `${Math.max(1, Math.round(bytes / 1e6))} MB`;
