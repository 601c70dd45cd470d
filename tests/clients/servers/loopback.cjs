// Loaded before a server that would listen on every address: it listens on loopback, and says where in one line.
//
//     PORT=0 node --require loopback.cjs SERVER...      prints {"listening": PORT}
const net = require("node:net");

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) {
  const heard = rest.filter((argument) => typeof argument === "function");
  this.once("listening", () => console.log(JSON.stringify({ listening: this.address().port })));
  return listen.call(this, Number(port), "127.0.0.1", ...heard);
};
