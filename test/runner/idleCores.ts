import { cpus } from 'node:os';

/** Returns a function that returns how many of the machine's cores have been idle since the last call. */
export function idleCoreMeter(): () => number {
	const read = () => {
		const times = cpus().map((core) => core.times);
		const idle = times.reduce((sum, core) => sum + core.idle, 0);
		const all = times.reduce((sum, core) => sum + core.user + core.nice + core.sys + core.idle + core.irq, 0);
		return { idle, all, cores: times.length };
	};
	let last = read();
	return () => {
		const now = read();
		const all = now.all - last.all;
		const share = all > 0 ? (now.idle - last.idle) / all : 0;
		last = now;
		return share * now.cores;
	};
}
