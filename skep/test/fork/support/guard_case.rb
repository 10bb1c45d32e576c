# frozen_string_literal: true

require "test_helper"
require "skep/fork"
require "socket"

# What tests of Guard's inspectors share.
class GuardCase < Skep::TestCase
  Guard = Skep::Fork::Guard
  ProcessInventory = Guard.const_get(:ProcessInventory)

  def setup
    @owned = []
    super
  end

  def teardown
    @owned.reject(&:closed?).each(&:close)
    super
  end

  private

  # Closes it after the test.
  def own(io) = io.tap { @owned << io }

  # Returns Guard's findings about these descriptors.
  def findings_of(*ios, **how)
    numbers = ios.map { |io| io.is_a?(Integer) ? io : io.fileno }
    Guard.check(**how).select do |finding|
      numbers.any? { |number| finding.where.match?(/\bfd #{number}\b/) }
    end
  end

  def finding_of(*ios, **how)
    findings = findings_of(*ios, **how)
    assert_equal 1, findings.size, findings
    findings.first
  end

  # Returns a server, a client connected to it, and the server's end of the connection.
  def connection
    server = own(TCPServer.new("127.0.0.1", 0))
    client = own(TCPSocket.new("127.0.0.1", server.addr[1]))
    [server, client, own(server.accept)]
  end

  # Returns the output of a fresh Ruby, which must print no warning.
  def output_of(program, *args, **how)
    out, err, status = run_program("require 'skep/fork'\n#{program}", args, **how)
    assert_equal "", err
    assert_predicate status, :success?
    out
  end
end
