/**
 * Preloaded into the programs of a fault campaign. On SIGUSR2 their clock jumps by FAULT_CLOCK_MS milliseconds, as it
 * does when a machine wakes up or its time is set.
 */
const real = Date.now;
let offset = 0;
const Plain = Date;

class JumpingDate extends Plain {
	constructor(...args: [] | ConstructorParameters<typeof Date>) {
		if (args.length === 0) super(real() + offset);
		else super(...(args as ConstructorParameters<typeof Date>));
	}
}
JumpingDate.now = () => real() + offset;
globalThis.Date = JumpingDate as DateConstructor;
process.on('SIGUSR2', () => {
	offset += Number(process.env.FAULT_CLOCK_MS ?? 0);
});
