import module from 'node:module';
import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Tracks which local files are loaded. Ignores files in packages and in Node itself because users do not edit them. */
export class LocalImports {
	readonly #files = new Set<string>();

	/** Starts tracking loaded modules. */
	install(): void {
		module.registerHooks({
			load: (url, context, next) => {
				const path = localPath(url);
				if (path !== null) this.#files.add(path);
				return next(url, context);
			},
		});
	}

	/** Absolute paths in loading order. */
	get files(): string[] {
		return [...this.#files];
	}
}

/** Returns the path for a module URL, or null if it is not a local file. */
function localPath(url: string): string | null {
	if (!url.startsWith('file:')) return null;
	const path = fileURLToPath(url.split('?')[0] as string);
	return path.includes(`${sep}node_modules${sep}`) ? null : path;
}
