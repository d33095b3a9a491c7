import module from 'node:module';
import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Notes which local files are loaded. Files of packages and of Node are left out: nobody edits those. */
export class LocalImports {
	readonly #files = new Set<string>();

	/** From here on every module that is loaded is noted. */
	install(): void {
		module.registerHooks({
			load: (url, context, next) => {
				const path = localPath(url);
				if (path !== null) this.#files.add(path);
				return next(url, context);
			},
		});
	}

	/** Absolute paths in the order of loading. */
	get files(): string[] {
		return [...this.#files];
	}
}

/** The path behind the URL of a module; null for what is no local file. */
function localPath(url: string): string | null {
	if (!url.startsWith('file:')) return null;
	const path = fileURLToPath(url.split('?')[0] as string);
	return path.includes(`${sep}node_modules${sep}`) ? null : path;
}
