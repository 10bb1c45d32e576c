# frozen_string_literal: true

require "socket"

# Simulates several hosts: network namespaces on a bridge, each with its own hostname, address and
# link, which can be disconnected. Needs root, and ip of iproute2.
#
#   hosts = Hosts.new(2)
#   hosts.address             # this machine's address on the bridge
#   hosts.under(0)            # the command prefix that runs a program on host 0
#   hosts.under(0, "web-1")   # the same with another hostname
#   hosts.disconnect(1); hosts.reconnect(1)
#   hosts.close
#
# `Hosts.obstacle` returns why this machine can't create them, or nil.
class Hosts
  class << self
    def obstacle
      return "it needs root for network namespaces" unless Process.uid.zero?
      return "it needs ip, of iproute2: bin/setup scenario" unless system("ip", "-V", out: null)

      "network namespaces aren't allowed here" unless possible?
    end

    private

    def null = File::NULL

    def possible?
      name = "skep#{Process.pid}"
      system("ip", "netns", "add", name, err: null) && system("ip", "netns", "del", name)
    end
  end

  attr_reader :names

  def initialize(count)
    @id = Process.pid
    @net = "198.18.#{@id % 250}" # reserved for network tests, RFC 2544
    @names = Array.new(count) { |n| "host#{n}-#{@id}" }
    ip "link", "add", bridge, "type", "bridge"
    ip "addr", "add", "#{address}/24", "dev", bridge
    ip "link", "set", bridge, "up"
    names.each_index { |n| build(n) }
  end

  def address = "#{@net}.1"

  def under(number, hostname = names[number])
    ["ip", "netns", "exec", names[number], "unshare", "--uts", "sh", "-c",
     "hostname #{hostname} && exec \"$@\"", "sh"]
  end

  # Drops all packets and closes no connection, as behind a failed switch.
  def disconnect(number) = ip("link", "set", link(number), "down")
  def reconnect(number) = ip("link", "set", link(number), "up")

  def close
    names.each { |name| system("ip", "netns", "del", name) }
    system("ip", "link", "del", bridge)
  end

  private

  def bridge = "skb#{@id}"
  def link(number) = "sk#{@id}.#{number}"

  def build(number)
    name = names[number]
    ip "netns", "add", name
    ip "link", "add", link(number), "type", "veth", "peer", "name", "eth0", "netns", name
    ip "link", "set", link(number), "master", bridge, "up"
    ip "-n", name, "addr", "add", "#{@net}.#{number + 2}/24", "dev", "eth0"
    %w[lo eth0].each { |device| ip "-n", name, "link", "set", device, "up" }
  end

  def ip(*words) = system("ip", *words) || raise("ip #{words.join(" ")} failed")
end
