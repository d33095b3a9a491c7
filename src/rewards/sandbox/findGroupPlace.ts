import { constants } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { posix } from 'node:path';

/** Controllers that the limits of a sandbox need. */
export const groupControllers = ['memory', 'pids'] as const;

/** The texts of /proc/self/mountinfo and /proc/self/cgroup. */
export interface GroupFacts {
	readonly mountinfo: string;
	readonly cgroup: string;
}

/** A control group below which this process may make others. */
export interface GroupPlace {
	readonly folder: string;
	/** Whether it has to hand its controllers on first. */
	readonly enable: boolean;
}

/**
 * The nearest control group (version 2), from this process's own upwards, below which it may make groups with limits of
 * memory and processes; else a phrase that says why there is none. A group that holds processes cannot hand its
 * controllers on, so it is mostly one above: a slice of the user's systemd, or the root group.
 */
export async function findGroupPlace(
	{ mountinfo, cgroup }: GroupFacts,
	mayWrite: (path: string) => Promise<boolean> = isWritable,
): Promise<GroupPlace | { readonly missing: string }> {
	const own = ownGroup(mountinfo, cgroup);
	if (own === null) return { missing: 'control groups of version 2 are not mounted' };
	let missing = 'no control group is delegated to this user';
	for (let folder = own.folder; ; folder = posix.dirname(folder)) {
		const [offered, handedOn, type, processes] = await Promise.all(
			['cgroup.controllers', 'cgroup.subtree_control', 'cgroup.type', 'cgroup.procs'].map((name) =>
				words(`${folder}/${name}`),
			),
		);
		if (folder === own.folder && !hasAll(offered)) missing = 'the controllers memory and pids are not delegated';
		// To move a program takes the right to write to the nearest group above both places.
		const writable = (await mayWrite(folder)) && (await mayWrite(`${folder}/cgroup.procs`));
		if (writable && hasAll(handedOn)) return { folder, enable: false };
		if (writable && hasAll(offered)) {
			// The root group alone has no type, and may hold processes.
			const mayHandOn = type?.length === 0 || processes?.length === 0;
			if (mayHandOn && (await mayWrite(`${folder}/cgroup.subtree_control`))) return { folder, enable: true };
			missing = 'the control group of this process contains other processes, and no parent is delegated';
		}
		if (folder === own.mount || folder === '/') return { missing };
	}
}

/** The mount of control groups that shows the group of this process, and its folder there. */
function ownGroup(mountinfo: string, cgroup: string): { readonly mount: string; readonly folder: string } | null {
	const own = /^0::(\/.*)$/m.exec(cgroup)?.[1];
	if (own === undefined) return null;
	// Of mounts on one another the last is seen.
	for (const line of mountinfo.split('\n').reverse()) {
		// `id parent device root mountpoint options [fields...] - type source options`
		const [before = '', after = ''] = line.split(' - ');
		if (!after.startsWith('cgroup2 ')) continue;
		const [, , , root = '', mount = ''] = before.split(' ').map(unescaped);
		const way = posix.relative(root, own);
		// A group outside of the namespace of this process is written with `..`.
		if (!`${root}/${own}/${way}`.split('/').includes('..')) return { mount, folder: posix.join(mount, way) };
	}
	return null;
}

/** Blanks and the like are octal in mountinfo. */
function unescaped(text: string): string {
	return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

async function words(file: string): Promise<string[]> {
	return (await readFile(file, 'utf8').catch(() => '')).split(/\s+/).filter((word) => word !== '');
}

function hasAll(list: readonly string[] = []): boolean {
	return groupControllers.every((name) => list.includes(name));
}

function isWritable(path: string): Promise<boolean> {
	return access(path, constants.W_OK).then(
		() => true,
		() => false,
	);
}
