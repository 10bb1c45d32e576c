# frozen_string_literal: true

require "socket"

# Several machines on this one: network namespaces on a bridge, each with a hostname, an address and
# a cable of its own that can be pulled out. Needs root, and iproute2's ip.
#
#   hosts = Hosts.new(2)
#   hosts.address             # this machine's, as they see it
#   hosts.under(0)            # the command that runs another one there
#   hosts.under(0, "web-1")   # under another hostname
#   hosts.cut(1); hosts.mend(1)
#   hosts.close
#
# Why it can't be had is in `Hosts.obstacle`, a sentence.
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
    @net = "198.18.#{@id % 250}" # set aside for tests of networks, RFC 2544
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

  # No packet goes through, and nobody is told: as behind a switch that has failed.
  def cut(number) = ip("link", "set", cable(number), "down")
  def mend(number) = ip("link", "set", cable(number), "up")

  def close
    names.each { |name| system("ip", "netns", "del", name) }
    system("ip", "link", "del", bridge)
  end

  private

  def bridge = "skb#{@id}"
  def cable(number) = "sk#{@id}.#{number}"

  def build(number)
    name = names[number]
    ip "netns", "add", name
    ip "link", "add", cable(number), "type", "veth", "peer", "name", "eth0", "netns", name
    ip "link", "set", cable(number), "master", bridge, "up"
    ip "-n", name, "addr", "add", "#{@net}.#{number + 2}/24", "dev", "eth0"
    %w[lo eth0].each { |device| ip "-n", name, "link", "set", device, "up" }
  end

  def ip(*words) = system("ip", *words) || raise("ip #{words.join(" ")} failed")
end
