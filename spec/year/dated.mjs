// For programs that a simulated year starts: they begin at the moment that they are told, and their time goes on from
// there as it really does.
const begins = Number(process.env.JQ_YEAR_AT);
const real = Date.now;
const ahead = begins * 1000 - real();
if (Number.isFinite(ahead)) Date.now = () => real() + ahead;
